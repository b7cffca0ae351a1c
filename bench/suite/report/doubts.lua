-- What casts doubt on the arms of a comparison, each kind once: what all arms share is said once, the
-- rest has a number that stands in the arm's row. Pure.

local doubts = {}

--- The doubts of <part>: list of {number (nil when all measured arms share it), text, arms (list of keys)}, and
-- for each arm's key the numbers as text ("1 3"). Texts that differ only in their figures are one kind; the
-- first stands for all.
function doubts.of(part)
    local list, by_kind, measured = {}, {}, 0
    for _, arm in ipairs(part.arms) do
        measured = measured + (arm.summary and 1 or 0)
        for _, mark in ipairs((arm.summary or {}).marks or {}) do
            local kind = mark:gsub("%d[%d.,]*", "N")
            local entry = by_kind[kind]
            if not entry then
                entry = { text = mark, arms = {} }
                by_kind[kind], list[#list + 1] = entry, entry
            end
            if entry.arms[#entry.arms] ~= arm.key then
                entry.arms[#entry.arms + 1] = arm.key
            end
        end
    end
    local number, numbers = 0, {}
    for _, entry in ipairs(list) do
        if #entry.arms < measured or measured == 1 then
            number = number + 1
            entry.number = number
            for _, key in ipairs(entry.arms) do
                numbers[key] = (numbers[key] and numbers[key] .. " " or "") .. number
            end
        end
    end
    return list, numbers
end

--- <entry> of the list as a line of text.
function doubts.line(entry)
    local text = entry.text .. "."
    return entry.number and ("%d. %s (%s)"):format(entry.number, text, table.concat(entry.arms, ", ")) or "All rows: " .. text
end

return doubts
