local write = io.write
for i = 0, 999998 do
    write(" ", i)
end
