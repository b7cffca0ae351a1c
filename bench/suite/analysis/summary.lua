-- From the slots of an arm to its summary: what it achieved in the rounds in which it served, and
-- whether it failed. Pure: tables in, tables out.

local figures = require("bench.suite.analysis.figures")
local statistics = require("bench.suite.analysis.statistics")

local summary = {}

-- A run is marked when more than this part of its requests failed.
local FAILURE_LIMIT = 0.01
-- Processors kept busy by programs that are not part of the measurement: above this a slot is marked.
summary.foreign_limit = 0.25

local SPANS = { "response_us", "service_us", "connect_us" }

--- Values that <pick> finds in the slots, in their order; nils are left out.
function summary.collect(slots, pick)
    local list = {}
    for _, slot in ipairs(slots) do
        local value = pick(slot)
        if value then
            list[#list + 1] = value
        end
    end
    return list
end

--- Why <slot> is a failed one: no result, or no request that succeeded. nil when it served.
function summary.slot_failure(slot)
    if slot.error or not slot.client then
        return slot.error or "no result of the load client"
    end
    return (slot.client.requests.ok or 0) == 0 and "no request succeeded" or nil
end

-- A first slot that costs so much more of the processor, or is so much slower where that is not known, than the
-- ones after it was still warming up.
local WARMING = 1.25

--- Why the first slot of an arm was still warm-up, as text, given <slots> in the order in which they were
-- measured; nil when it was not, or when there is nothing to compare it with.
function summary.warming(slots)
    local first = slots[1]
    if not slots[2] or summary.slot_failure(first) then
        return nil
    end
    local function later(pick)
        return statistics.median(summary.collect({ unpack(slots, 2) }, function(slot)
            return not summary.slot_failure(slot) and pick(slot)
        end))
    end
    local function cpu_of(slot)
        return (slot.resources or {}).server_cpu_us_per_request
    end
    local cpu, usual = cpu_of(first), later(cpu_of)
    if cpu and usual and usual > 0 then
        return cpu / usual > WARMING and ("still warming up: %.0f %% more processor time for each answer than later"):format(
            (cpu / usual - 1) * 100) or nil
    end
    local rate, steady = first.ok_per_s, later(function(slot)
        return slot.ok_per_s
    end)
    return steady and steady / rate > WARMING and ("still warming up: %.0f %% of the later rate"):format(rate / steady * 100) or nil
end

--- The slots of an arm, without or with only its A/A twins; failed ones too.
function summary.slots_of(arm, twins)
    return summary.collect(arm.slots or {}, function(slot)
        return (slot.twin or false) == (twins or false) and slot
    end)
end

local function listed(rounds)
    return ("%s %s"):format(#rounds == 1 and "round" or "rounds", table.concat(rounds, ", "))
end

--- What went wrong with a whole arm, as text: it ended, or rounds passed without a success. nil for an
-- arm that served in every round. No ratio is formed from what remains, and the run's exit code is 3.
function summary.trouble(arm)
    local failed, first, seen = {}, nil, {}
    for _, slot in ipairs(arm.slots or {}) do
        local reason = summary.slot_failure(slot)
        if reason and not seen[slot.round or 0] then
            failed[#failed + 1], seen[slot.round or 0] = slot.round or 0, true
            first = first or reason
        end
    end
    if arm.ended then
        local after = arm.ended.after_round
        return ("ended %s: %s"):format(after > 0 and "after round " .. after or "before the first round was over", arm.ended.reason)
    elseif first then
        return ("failed in %s of %d: %s"):format(listed(failed), #summary.slots_of(arm), first)
    end
end

local REDUCE = {
    median = statistics.median,
    max = function(values)
        return #values > 0 and math.max(unpack(values)) or nil
    end,
    min = function(values)
        return #values > 0 and math.min(unpack(values)) or nil
    end,
    sum = function(values)
        local total = 0
        for _, value in ipairs(values) do
            total = total + value
        end
        return #values > 0 and total or nil
    end,
}

local function add_counts(into, from)
    for name, value in pairs(from or {}) do
        if type(value) == "number" then
            into[name] = (into[name] or 0) + value
        end
    end
end

-- Median of each group's figures for one answer, and of its processes.
local function group_medians(slots)
    local names, groups = {}, {}
    for _, slot in ipairs(slots) do
        for name in pairs((slot.resources or {}).groups or {}) do
            names[name] = true
        end
    end
    for name in pairs(names) do
        local function of_group(pick)
            return statistics.median(summary.collect(slots, function(slot)
                local group = slot.resources.groups[name]
                return group and pick(group, slot.client.requests.ok)
            end))
        end
        groups[name] = { processes = of_group(function(group)
            return group.processes
        end) }
        for _, figure in ipairs(figures.process) do
            groups[name][figure.request.key] = of_group(function(group, ok)
                return group[figure.key] and ok > 0 and group[figure.key] / ok * figure.request.scale
            end)
        end
    end
    return groups
end

-- The client's reasons for doubt, one entry for each kind whatever its figures: list of {text, slots}.
local function client_doubts(slots)
    local list, by_kind = {}, {}
    for _, slot in ipairs(slots) do
        local verdict = slot.client.verdict
        for _, reason in ipairs(verdict and verdict ~= "valid" and slot.client.reasons or {}) do
            local text = tostring(reason)
            local kind = text:gsub("%d[%d.]*", "N")
            if not by_kind[kind] then
                by_kind[kind] = { text = text, slots = 0 }
                list[#list + 1] = by_kind[kind]
            end
            by_kind[kind].slots = by_kind[kind].slots + 1
        end
    end
    return list
end

-- Reasons to look twice at an arm: failures, a client in doubt, other programs on the machine.
local function marks(result, slots)
    local list = {}
    local function mark(...)
        list[#list + 1] = string.format(...)
    end
    if result.failed_share > FAILURE_LIMIT then
        mark("%.1f %% of the requests failed", result.failed_share * 100)
    end
    for _, doubt in ipairs(client_doubts(slots)) do
        mark("the load client, in %d of %d slots: %s", doubt.slots, #slots, doubt.text)
    end
    local foreign = #summary.collect(slots, function(slot)
        return (slot.foreign_cpus or 0) > summary.foreign_limit
    end)
    if foreign > 0 then
        mark("other programs used the processors in some slots")
    end
    local held = summary.collect(slots, function(slot)
        return slot.throttled
    end)
    table.sort(held, function(a, b)
        return a.share > b.share
    end)
    if held[1] then
        mark("the quota of the control group %s throttled %d of %d slots, in %.0f %% of the periods at worst", held[1].group, #held,
            #slots, held[1].share * 100)
    end
    for _, index in ipairs(statistics.outliers(result.ok_per_s.values)) do
        mark("round %d is an outlier (%.0f/s)", index, result.ok_per_s.values[index])
    end
    return list
end

-- Percentiles: exact from the merged histogram, else brought together from the rounds.
local function latencies(slots, kind, merged)
    local values = merged or {}
    for _, figure in ipairs(figures.latency) do
        values[figure.key] = values[figure.key] or REDUCE[figure.over](summary.collect(slots, function(slot)
            return (slot.client[kind] or {})[figure.key]
        end))
    end
    return values
end

--- Summary of an arm's slots (twins left out by the caller); nil when no slot has a result.
-- {slots, failed_slots, ok_per_s = {median, mean, low, high, values} over the slots that served,
-- requests, failures, status (sums over all), failed_share, response_us, service_us, connect_us,
-- groups, marks, and each figure of figures.slot}. low is never below 0: a rate cannot be.
-- <merged>: percentiles over all slots, from merged histograms.
function summary.of(slots, merged)
    local all = summary.collect(slots, function(slot)
        return slot.client and not slot.error and slot
    end)
    if #all == 0 then
        return nil
    end
    local good = summary.collect(all, function(slot)
        return not summary.slot_failure(slot) and slot
    end)
    local rates = summary.collect(good, function(slot)
        return slot.ok_per_s or 0
    end)
    local interval = statistics.interval(rates) or { mean = 0 }
    local result = {
        slots = #good, failed_slots = #slots - #good,
        ok_per_s = { median = statistics.median(rates) or 0, mean = interval.mean, low = interval.low and math.max(0, interval.low),
            high = interval.high, values = rates },
        requests = {}, failures = {}, status = {},
    }
    for _, slot in ipairs(all) do
        add_counts(result.requests, slot.client.requests)
        add_counts(result.failures, slot.client.failures)
        add_counts(result.status, slot.client.status)
    end
    local answered = (result.requests.ok or 0) + (result.requests.failed or 0)
    result.failed_share = answered > 0 and result.requests.failed / answered or 0
    for _, kind in ipairs(SPANS) do
        result[kind] = latencies(good, kind, merged and merged[kind])
    end
    for _, figure in ipairs(figures.slot) do
        result[figure.key] = REDUCE[figure.over](summary.collect(figure.over == "sum" and all or good, figure.of))
    end
    result.groups = group_medians(good)
    result.marks = marks(result, all)
    return result
end

return summary
