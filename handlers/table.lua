-- SPDX-License-Identifier: MIT
-- table: a triangular HTML table of ?max= rows (0 to 999, 99 if absent). Twin of
-- table.c, in the two classic forms of building a long string. The route's
-- argument chooses: "buffer" (the default, as it is the faster one) or "concat".
local new_buffer = require("string.buffer").new

local ROWS_DEFAULT, ROWS_MAX = 99, 999

local forms = {}

-- One string for each cell, joined at the end.
function forms.concat(rows)
    local parts, count = {"<table>"}, 1
    for row = 0, rows - 1 do
        parts[count + 1] = "<tr>"
        for column = 0, row - 1 do
            parts[count + 2 + column] = "<td>" .. row .. " " .. column .. "</td>"
        end
        count = count + row + 2
        parts[count] = "</tr>"
    end
    parts[count + 1] = "</table>"
    return table.concat(parts)
end

local page = new_buffer() -- keeps its memory from request to request

-- LuaJIT's string buffer: no piece becomes a string of its own.
function forms.buffer(rows)
    page:reset():put("<table>")
    for row = 0, rows - 1 do
        local cell = "<td>" .. row .. " "
        page:put("<tr>")
        for column = 0, row - 1 do
            page:put(cell, column, "</td>")
        end
        page:put("</tr>")
    end
    return page:put("</table>"):tostring()
end

local build = assert(forms[... or "buffer"], 'the argument is "buffer" or "concat"')

return function(request)
    local text = request:query("max")
    local rows = ROWS_DEFAULT
    if text then
        rows = text:find("^%d+$") and tonumber(text)
    end
    if not rows or rows > ROWS_MAX then
        request:status(400)
        request:header("Content-Type", "text/plain")
        request:print("max must be a whole number from 0 to %d\n", ROWS_MAX)
        return
    end
    request:header("Content-Type", "text/html; charset=utf-8")
    request:write(build(rows))
end
