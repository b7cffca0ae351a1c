-- Two runs side by side: the same comparison and arm in two results folders (two commits, two
-- machines), as a ratio with an interval, and an exit code for pipelines. Pure but for print().

local results = require("bench.suite.report.results")
local statistics = require("bench.suite.analysis.statistics")
local summary = require("bench.suite.analysis.summary")

local compare = {}

-- A slower arm is a regression beyond this loss and beyond the noise of both runs.
local DEFAULT_LIMIT_PERCENT = 5

-- What must be the same on both sides: name, and its value as text from {part, arm, record}.
local CONDITIONS = {
    { "connections", function(side)
        return (side.part.load or {}).connections
    end },
    { "kept connections", function(side)
        return (side.part.load or {}).keep_alive and "yes" or "no"
    end },
    { "bytes posted", function(side)
        return (side.part.load or {}).post_bytes
    end },
    { "requests of a slot", function(side)
        return side.part.slot_requests
    end },
    { "bytes of a request's body", function(side)
        return (side.part.load or {}).post_bytes
    end },
    { "request headers", function(side)
        return table.concat(side.part.headers or {}, ", ")
    end },
    { "page", function(side)
        return side.arm.path or side.part.page
    end },
    { "expected status", function(side)
        return side.expect.status or 200
    end },
    { "expected bytes", function(side)
        return side.expect.bytes
    end },
    { "expected body", function(side)
        return side.expect.body
    end },
    { "url", function(side)
        return side.arm.url
    end },
    { "variant", function(side)
        return side.arm.variant
    end },
    { "profile", function(side)
        return side.record.profile
    end },
    { "hosts", function(side)
        local names = {}
        for i, host in ipairs(side.record.hosts or {}) do
            names[i] = ("%s (%s)"):format(tostring(host.name or host), tostring(host.role or host.group or "any part"))
        end
        table.sort(names)
        return #names > 0 and table.concat(names, ", ") or nil
    end },
}

-- How the two sides differ, as text; nil when they were measured alike.
local function difference(a, b)
    local list = {}
    for _, condition in ipairs(CONDITIONS) do
        local left, right = tostring(condition[2](a) or "none"), tostring(condition[2](b) or "none")
        if left ~= right then
            list[#list + 1] = ("%s %s, %s"):format(condition[1], left:sub(1, 60), right:sub(1, 60))
        end
    end
    return #list > 0 and table.concat(list, "; ") or nil
end

-- "document / comparison / arm" -> {summary, floor, part, arm, record, expect} of every measured arm.
local function index(record)
    local map, order = {}, {}
    for _, document in ipairs(record.documents) do
        for _, part in ipairs(document.parts) do
            for _, arm in ipairs(part.arms or {}) do
                if arm.summary then
                    local key = ("%s / %s / %s"):format(document.name, part.name, arm.key)
                    map[key], order[#order + 1] = { summary = arm.summary, floor = (part.noise or {}).floor or 0, part = part,
                        arm = arm, record = record,
                        expect = setmetatable(arm.expect or {}, { __index = part.expect or {} }) }, key
                end
            end
        end
    end
    return map, order
end

local function row_of(key, a, b, limit)
    local row = { key = key, a = a.summary.ok_per_s.median, b = b.summary.ok_per_s.median, floor = math.max(a.floor, b.floor) }
    row.difference = difference(a, b)
    if row.difference then
        row.verdict = "not comparable: " .. row.difference
        return row
    end
    local failed = { summary.trouble(a.arm) or false, summary.trouble(b.arm) or false }
    if failed[1] or failed[2] then
        row.regression = failed[2] and not failed[1]
        row.verdict = (failed[1] and "A " .. failed[1] or "") .. (failed[1] and failed[2] and "; " or "")
            .. (failed[2] and "B " .. failed[2] or "")
        return row
    end
    local ratio = statistics.ratio_unpaired(a.summary.ok_per_s.values, b.summary.ok_per_s.values)
    row.verdict = "no difference shown"
    if ratio then
        row.ratio, row.low, row.high = ratio.ratio, ratio.low, ratio.high
        local threshold = math.max(limit, row.floor)
        if ratio.high and ratio.high < 1 and 1 / ratio.ratio - 1 > threshold then
            row.verdict = "slower"
        elseif ratio.low and ratio.low > 1 and ratio.ratio - 1 > threshold then
            row.verdict = "faster"
        end
    end
    local cpu_a, cpu_b = a.summary.server_cpu_us_per_request, b.summary.server_cpu_us_per_request
    row.cpu_ratio = cpu_a and cpu_b and cpu_a > 0 and cpu_b / cpu_a or nil
    if (b.summary.failed_share or 0) > (a.summary.failed_share or 0) + 0.01 then
        row.verdict = "more failures"
    end
    row.regression = row.verdict == "slower" or row.verdict == "more failures"
    return row
end

--- Compares results <a> (before) with <b> (after): {rows = list of {key, a, b, ratio, low, high,
-- cpu_ratio, floor, verdict, difference (how
-- the two were not measured alike: then there is no ratio), regression}, regressions, compared, only_a, only_b (lists of keys), notes}. limit: fraction.
function compare.records(a, b, limit)
    local before, order = index(a)
    local after, after_order = index(b)
    local result = { rows = {}, regressions = 0, compared = 0, only_a = {}, only_b = {}, notes = {} }
    for _, key in ipairs(order) do
        if after[key] then
            local row = row_of(key, before[key], after[key], limit)
            result.rows[#result.rows + 1] = row
            result.compared = result.compared + (row.difference and 0 or 1)
            result.regressions = result.regressions + (row.regression and 1 or 0)
        else
            result.only_a[#result.only_a + 1] = key
        end
    end
    for _, key in ipairs(after_order) do
        if not before[key] then
            result.only_b[#result.only_b + 1] = key
        end
    end
    for _, name in ipairs({ "cpu", "cpus", "usable_cpus", "kernel" }) do
        if a.machine[name] ~= b.machine[name] then
            result.notes[#result.notes + 1] = ("%s differs: %s, %s"):format(name, tostring(a.machine[name]), tostring(b.machine[name]))
        end
    end
    for name, record in pairs({ A = a, B = b }) do
        if not record.complete then
            result.notes[#result.notes + 1] = name .. " is incomplete"
        end
    end
    table.sort(result.notes)
    return result
end

local function number(value)
    return value and ("%.3f"):format(value) or "-"
end

--- The comparison as lines of text.
function compare.text(result)
    local lines = { ("%-58s %10s %10s  %-7s %-16s %-7s %s"):format("document / comparison / stack", "A /s", "B /s", "B/A", "95 % interval",
        "CPU B/A", "verdict") }
    for _, row in ipairs(result.rows) do
        lines[#lines + 1] = ("%-58s %10.0f %10.0f  %-7s %-16s %-7s %s"):format(row.key, row.a, row.b, number(row.ratio),
            number(row.low) .. " to " .. number(row.high), number(row.cpu_ratio), row.verdict)
    end
    for _, key in ipairs(result.only_a) do
        lines[#lines + 1] = key .. ": only in A"
    end
    for _, key in ipairs(result.only_b) do
        lines[#lines + 1] = key .. ": only in B"
    end
    for _, note in ipairs(result.notes) do
        lines[#lines + 1] = "note: " .. note
    end
    lines[#lines + 1] = ("%d compared, %d %s"):format(result.compared, result.regressions,
        result.regressions == 1 and "regression" or "regressions")
    return lines
end

--- Reads two folders, prints the comparison, returns the exit code: 0, or 3 on a regression.
-- <limit_percent>: smallest loss that counts (default 5).
function compare.print(path_a, path_b, limit_percent)
    local records = {}
    for i, path in ipairs({ path_a, path_b }) do
        local record, reason = results.load(path)
        if not record then
            error({ usage = reason }, 0)
        end
        records[i] = record
    end
    local result = compare.records(records[1], records[2], (limit_percent or DEFAULT_LIMIT_PERCENT) / 100)
    print(table.concat(compare.text(result), "\n"))
    if result.compared == 0 then
        error({ usage = #result.rows > 0 and "nothing can be compared: the two runs were not measured alike"
            or "the two folders have no comparison in common" }, 0)
    end
    return result.regressions > 0 and 3 or 0
end

return compare
