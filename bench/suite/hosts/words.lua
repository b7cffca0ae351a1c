-- SPDX-License-Identifier: MIT
--
-- Words and the shell: ssh hands the remote shell one text, and inventories hold options as one
-- text. Pure.

local words = {}

--- <argv> as one text that a POSIX shell reads as exactly these words. Raises an error for a word
-- with a zero byte, which no program can be given.
function words.quote(argv)
    local list = {}
    for index, word in ipairs(argv) do
        word = tostring(word)
        if word:find("%z") then
            error("an argument holds a zero byte", 0)
        end
        list[index] = word:match("^[%w_@%%+:,./=-]+$") or "'" .. word:gsub("'", "'\\''") .. "'"
    end
    return table.concat(list, " ")
end

local ESCAPED_IN_DOUBLE = '^[\\"$`]$'

--- Splits <text> as a shell would without expanding anything: blanks, quotes, backslashes. A list;
-- nil and a reason when a quote is not closed.
function words.split(text)
    local list, current, quote, at = {}, nil, nil, 1
    while at <= #text do
        local char = text:sub(at, at)
        local following = text:sub(at + 1, at + 1)
        if quote and char == quote then
            quote = nil
        elseif char == "\\" and quote ~= "'" and (not quote or following:match(ESCAPED_IN_DOUBLE)) then
            current = (current or "") .. following
            at = at + 1
        elseif quote then
            current = current .. char
        elseif char == "'" or char == '"' then
            quote, current = char, current or ""
        elseif char:match("%s") then
            list[#list + 1], current = current, nil
        else
            current = (current or "") .. char
        end
        at = at + 1
    end
    if quote then
        return nil, ("a quote is not closed in: %s"):format(text)
    end
    list[#list + 1] = current
    return list
end

return words
