-- Lua's strings are immutable: `..` in the loop would copy the page at every step, so the idiom is
-- a buffer of pieces that is joined once.
local max = 999
local parts, n = { "<table>" }, 1
for r = 0, max - 1 do
    n = n + 1
    parts[n] = "<tr>"
    for c = 0, r - 1 do
        parts[n + 1], parts[n + 2], parts[n + 3], parts[n + 4], parts[n + 5] = "<td>", r, " ", c, "</td>"
        n = n + 5
    end
    n = n + 1
    parts[n] = "</tr>"
end
parts[n + 1] = "</table>"
return table.concat(parts)
