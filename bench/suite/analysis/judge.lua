-- From slots to conclusions: what each arm achieved, how two arms compare, and what remains of a
-- published claim. Pure: tables in, tables out.

local statistics = require("bench.suite.analysis.statistics")

local judge = {}

-- A run is marked when more than this part of its requests failed.
local FAILURE_LIMIT = 0.01
-- A published row is not a rate of real answers when more than this part of it failed.
local PUBLISHED_LIMIT = 0.01
-- Processors kept busy by programs that are not part of the measurement: above this a slot is marked.
local FOREIGN_LIMIT = 0.25
judge.foreign_limit = FOREIGN_LIMIT
-- No A/A run of a few rounds shows the whole noise of a machine; below this no gain is called one.
local SMALLEST_FLOOR = 0.03

local LATENCIES = { "min", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "max" }

-- Values that <pick> finds in the slots, in their order; nils are left out.
local function collect(slots, pick)
    local list = {}
    for _, slot in ipairs(slots) do
        local value = not slot.error and pick(slot)
        if value then
            list[#list + 1] = value
        end
    end
    return list
end

local function add_counts(into, from)
    for name, value in pairs(from or {}) do
        if type(value) == "number" then
            into[name] = (into[name] or 0) + value
        end
    end
end

-- Median of each group's CPU time per request and processes.
local function group_medians(slots)
    local names, groups = {}, {}
    for _, slot in ipairs(slots) do
        for name in pairs((slot.resources or {}).groups or {}) do
            names[name] = true
        end
    end
    for name in pairs(names) do
        local function per_request(field, scale)
            return statistics.median(collect(slots, function(slot)
                local group, ok = slot.resources.groups[name], slot.client.requests.ok
                return group and group[field] and ok > 0 and group[field] / ok * scale
            end))
        end
        groups[name] = {
            cpu_us_per_request = per_request("cpu_s", 1e6),
            user_us_per_request = per_request("user_s", 1e6),
            system_us_per_request = per_request("system_s", 1e6),
            switches_per_request = per_request("voluntary_switches", 1),
            preemptions_per_request = per_request("involuntary_switches", 1),
            processes = statistics.median(collect(slots, function(slot)
                return slot.resources.groups[name] and slot.resources.groups[name].processes
            end)),
        }
    end
    return groups
end

-- Reasons to look twice at an arm: failures, a saturated client, other programs on the machine.
local function marks(summary, slots)
    local list = {}
    local function mark(...)
        list[#list + 1] = string.format(...)
    end
    if summary.failed_share > FAILURE_LIMIT then
        mark("%.1f %% of the requests failed", summary.failed_share * 100)
    end
    local invalid, reasons, foreign = 0, {}, 0
    for _, slot in ipairs(slots) do
        local verdict = slot.client and slot.client.verdict
        if verdict and verdict ~= "valid" then
            invalid = invalid + 1
            for _, reason in ipairs(slot.client.reasons or {}) do
                local text = tostring(reason)
                local kind = text:gsub("%d[%d.]*", "N") -- one example of each, whatever its figures
                if not reasons[kind] then
                    reasons[kind], reasons[#reasons + 1] = true, text
                end
            end
        end
        foreign = foreign + ((slot.foreign_cpus or 0) > FOREIGN_LIMIT and 1 or 0)
    end
    if invalid > 0 then
        mark("the client doubts %d of %d slots: %s", invalid, #slots, table.concat(reasons, "; "))
    end
    if foreign > 0 then
        mark("other programs used the processors in some slots")
    end
    for _, index in ipairs(statistics.outliers(summary.ok_per_s.values)) do
        mark("round %d is an outlier (%.0f/s)", index, summary.ok_per_s.values[index])
    end
    return list
end

--- Summary of an arm's slots (twins left out by the caller); nil when nothing was measured.
-- {slots, ok_per_s = {median, mean, low, high, values}, requests, failures, status (sums),
-- failed_share, response_us, service_us, connect_us (medians of the rounds), server_cpu_us_per_request, client_cpu_us_per_request,
-- groups, bytes_per_answer, answers_per_s, marks}.
-- <merged>: percentiles over all slots, from merged histograms; without it the medians of the rounds.
function judge.summary(slots, merged)
    local good = collect(slots, function(slot)
        return slot.client and slot
    end)
    if #good == 0 then
        return nil
    end
    local rates = collect(good, function(slot)
        return slot.ok_per_s or 0
    end)
    local interval = statistics.interval(rates)
    local summary = {
        slots = #good,
        ok_per_s = { median = statistics.median(rates), mean = interval.mean, low = interval.low, high = interval.high, values = rates },
        requests = {}, failures = {}, status = {},
    }
    for _, slot in ipairs(good) do
        add_counts(summary.requests, slot.client.requests)
        add_counts(summary.failures, slot.client.failures)
        add_counts(summary.status, slot.client.status)
    end
    local answered = (summary.requests.ok or 0) + (summary.requests.failed or 0)
    summary.failed_share = answered > 0 and summary.requests.failed / answered or 0
    for _, kind in ipairs({ "response_us", "service_us", "connect_us" }) do
        summary[kind] = merged and merged[kind] or {}
        for _, name in ipairs(LATENCIES) do
            local values = collect(good, function(slot)
                return (slot.client[kind] or {})[name]
            end)
            summary[kind][name] = summary[kind][name] or name == "max" and #values > 0 and math.max(unpack(values))
                or name == "min" and #values > 0 and math.min(unpack(values)) or statistics.median(values)
        end
    end
    summary.server_cpu_us_per_request = statistics.median(collect(good, function(slot)
        return slot.resources and slot.resources.server_cpu_us_per_request
    end))
    summary.client_cpu_us_per_request = statistics.median(collect(good, function(slot)
        local ok = slot.client.requests.ok
        return ok > 0 and slot.client.client_cpu_s and slot.client.client_cpu_s / ok * 1e6
    end))
    summary.bytes_per_answer = statistics.median(collect(good, function(slot)
        local ok = slot.client.requests.ok
        return ok > 0 and slot.client.bytes and slot.client.bytes.received and slot.client.bytes.received / ok
    end))
    -- What a client that does not look at the answers would print as its rate.
    summary.answers_per_s = statistics.median(collect(good, function(slot)
        local count = 0
        for _, value in pairs(slot.client.status or {}) do
            count = count + value
        end
        return slot.elapsed_s > 0 and count / slot.elapsed_s
    end))
    summary.groups = group_medians(good)
    summary.marks = marks(summary, good)
    return summary
end

--- The slots of an arm, without or with only its A/A twins.
function judge.slots_of(arm, twins)
    return collect(arm.slots or {}, function(slot)
        return (slot.twin or false) == (twins or false) and slot
    end)
end

-- Rates of <a> and <b> (lists of slots) in the rounds that both have.
local function paired(a, b)
    local by_round, left, right = {}, {}, {}
    for _, slot in ipairs(a) do
        by_round[slot.round] = slot.ok_per_s
    end
    for _, slot in ipairs(b) do
        if by_round[slot.round] and slot.ok_per_s then
            left[#left + 1], right[#right + 1] = by_round[slot.round], slot.ok_per_s
        end
    end
    return left, right
end

--- Noise of a comparison from its A/A twin: {arm, ratios, floor}; floor is a fraction, at least 3 %.
function judge.noise(arms)
    for _, arm in ipairs(arms) do
        local twins = judge.slots_of(arm, true)
        if #twins > 0 then
            local a, b = paired(judge.slots_of(arm), twins)
            local ratios = {}
            for i = 1, #a do
                ratios[i] = a[i] > 0 and b[i] / a[i] or nil
            end
            return { arm = arm.key, ratios = ratios, measured = statistics.noise_floor(a, b),
                floor = math.max(SMALLEST_FLOOR, statistics.noise_floor(a, b)) }
        end
    end
    return { ratios = {}, floor = SMALLEST_FLOOR }
end

--- Compares arm <a> with arm <b>: {a, b, ratio = b/a, median, low, high, n, winner ("a", "b" or
-- nil), gain, text}. A median of 1.2 means b was 1.2 times a.
function judge.pair(a, b, floor)
    local left, right = paired(judge.slots_of(a), judge.slots_of(b))
    local ratio = statistics.ratio(left, right)
    local verdict = statistics.verdict(ratio, floor, { a = a.key, b = b.key })
    ratio = ratio or {}
    return {
        a = a.key, b = b.key, ratio = ratio.ratio, median = ratio.median, low = ratio.low, high = ratio.high, n = ratio.n or 0,
        winner = verdict.winner, gain = verdict.gain, text = verdict.text, reason = verdict.reason,
    }
end

--- True when a published row is a rate of errors, with the reason as text.
function judge.published_errors(published)
    local requests = published and published.requests
    if not requests then
        return false
    end
    local wrong = math.max(published.non_2xx or 0, published.failed_kind ~= "length" and published.failed or 0)
    if wrong / requests <= PUBLISHED_LIMIT then
        return false
    end
    return true, ("%d of %d answers were not 2xx"):format(wrong, requests)
end

local JUDGEMENTS = {
    artefact = "artefact of the measurement",
    reproduced = "reproduced",
    reversed = "reversed",
    equal = "no difference shown",
    open = "not measured",
}

-- A sentence on two published rows, of which at least one counted error pages.
local function artefact_evidence(fast, slow)
    local parts = {}
    for _, arm in ipairs({ fast, slow }) do
        local errors, text = judge.published_errors(arm.published)
        if errors then
            parts[#parts + 1] = arm.label .. ": " .. text
        end
    end
    return #parts > 0 and "in the listing itself " .. table.concat(parts, "; ") or nil
end

--- Judges one published claim. <arms> by label, as documented; pair = judge.pair(slower, faster).
-- {faster, slower, published_ratio, pair, judgement, judgement_text, evidence}.
function judge.claim(claim, arms, floor)
    local fast, slow = arms[claim.faster], arms[claim.slower]
    local result = { faster = claim.faster, slower = claim.slower }
    if fast.published and slow.published then
        result.published_ratio = fast.published.rate_per_s / slow.published.rate_per_s
    end
    local measured = fast.summary and slow.summary
    result.pair = measured and judge.pair(slow, fast, floor) or nil
    local artefact = artefact_evidence(fast, slow)
    local winner = result.pair and result.pair.winner
    result.today = not result.pair and "open" or winner == "b" and "reproduced" or winner == "a" and "reversed" or "equal"
    result.judgement = artefact and "artefact" or result.today
    result.judgement_text = JUDGEMENTS[result.judgement]
    result.today_text = JUDGEMENTS[result.today]
    result.evidence = artefact
    return result
end

-- The arithmetic bound of an arm on this machine, client and servers together.
local function bound(arm, comparison, cpus)
    local summary = arm.summary
    local cpu_us = (summary.server_cpu_us_per_request or 0) + (summary.client_cpu_us_per_request or 0)
    local result = { processor_per_s = cpu_us > 0 and cpus * 1e6 / cpu_us or nil }
    local wait_s = comparison.load.wait_s
    local children = arm.blocking ~= false and arm.children
    if wait_s and children then
        result.children_per_s = children / wait_s
    end
    if wait_s then
        result.clients_per_s = comparison.load.connections / wait_s
    end
    for _, name in ipairs({ "processor_per_s", "children_per_s", "clients_per_s" }) do
        if result[name] and (not result.rate_per_s or result[name] < result.rate_per_s) then
            result.rate_per_s, result.binding = result[name], name:match("^%a+")
        end
    end
    result.share = result.rate_per_s and summary.ok_per_s.median / result.rate_per_s
    local mean = summary.response_us and summary.response_us.mean
    if mean and summary.failed_share == 0 then
        result.little = summary.ok_per_s.median * mean / 1e6 / comparison.load.connections
    end
    return result
end

--- Completes the record of a comparison: summaries, noise, bounds, pairs against the first arm,
-- tuned against documented, tuned against the floor, and the claims. <cpus>: processors of the machine.
function judge.comparison(record, cpus)
    local documented, measured = {}, {}
    for _, arm in ipairs(record.arms) do
        arm.summary = judge.summary(judge.slots_of(arm), arm.merged)
        if arm.variant == "documented" then
            documented[arm.label] = arm
        end
        if arm.summary then
            measured[#measured + 1] = arm
            arm.predicted = bound(arm, record, cpus)
        end
    end
    record.noise = judge.noise(record.arms)
    record.pairs, record.tuning, record.claims, record.floors = {}, {}, {}, {}
    for i = 2, #measured do
        record.pairs[#record.pairs + 1] = judge.pair(measured[1], measured[i], record.noise.floor)
    end
    for _, arm in ipairs(measured) do
        local before = documented[arm.label]
        if arm.variant == "tuned" and before and before.summary then
            record.tuning[#record.tuning + 1] = judge.pair(before, arm, record.noise.floor)
        end
    end
    for _, arm in ipairs(measured) do
        for _, reference in ipairs(measured) do
            if reference.reference == "floor" and not arm.reference and arm.variant == "tuned" then
                record.floors[#record.floors + 1] = judge.pair(reference, arm, record.noise.floor)
            end
        end
    end
    for _, claim in ipairs(record.published_claims or {}) do
        if documented[claim.faster] and documented[claim.slower] then
            record.claims[#record.claims + 1] = judge.claim(claim, documented, record.noise.floor)
        end
    end
    -- Who leads now: the fastest arm as documented that is no reference.
    local best
    for _, arm in ipairs(measured) do
        if not arm.reference and (not best or arm.summary.ok_per_s.median > best.summary.ok_per_s.median) then
            best = arm
        end
    end
    record.fastest = best and best.key
    return record
end

return judge
