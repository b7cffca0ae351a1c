-- SPDX-License-Identifier: MIT
-- globals: all global variables, recursively, one a line, as text. The order is
-- by name and no address is shown, so every child prints the same page. A table
-- that was printed before is only named again, which cuts the cycles.

-- Numbers before strings, each in its own order; other keys cannot be sorted
-- the same way twice and are counted instead.
local function before(left, right)
    if type(left) == type(right) then
        return left < right
    end
    return type(left) == "number"
end

local function sorted_keys(values)
    local keys, others = {}, 0
    for key in pairs(values) do
        if type(key) == "string" or type(key) == "number" then
            keys[#keys + 1] = key
        else
            others = others + 1
        end
    end
    table.sort(keys, before)
    return keys, others
end

local function text_of(value)
    if type(value) == "string" then
        return (("%q"):format(value):gsub("[%c\127-\255]", function(character)
            return ("\\%03d"):format(character:byte())
        end))
    elseif type(value) == "number" or type(value) == "boolean" then
        return tostring(value)
    end
    return type(value)
end

local function name_of(key)
    if type(key) == "string" and key:find("^[%a_][%w_]*$") then
        return "." .. key
    end
    return "[" .. text_of(key) .. "]"
end

local function print_table(request, values, path, seen)
    seen[values] = path
    local keys, others = sorted_keys(values)
    for _, key in ipairs(keys) do
        local value = values[key]
        local name = path .. name_of(key)
        if type(value) ~= "table" then
            request:write(name, " = ", text_of(value), "\n")
        elseif seen[value] then
            request:write(name, " -> ", seen[value], "\n")
        else
            request:write(name, " = table\n")
            print_table(request, value, name, seen)
        end
    end
    if others > 0 then
        request:print("%s: and %d keys that are neither names nor numbers\n", path, others)
    end
end

return function(request)
    request:header("Content-Type", "text/plain; charset=utf-8")
    print_table(request, _G, "_G", {})
end
