local a = {}
for k = 0, 999 do
    a[k] = 0
end
for z = 0, 999998 do
    local k = z * z % 1000
    a[k] = a[k] + k
end
return table.concat(a, "", 0, 999)
