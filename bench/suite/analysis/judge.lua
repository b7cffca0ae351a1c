-- From slots to conclusions: what each arm achieved, how two arms compare, and what remains of a
-- published claim. Pure: tables in, tables out.

local statistics = require("bench.suite.analysis.statistics")
local summary = require("bench.suite.analysis.summary")

local judge = {}

-- A published row is not a rate of real answers when more than this part of it failed.
local PUBLISHED_LIMIT = 0.01
-- No A/A run of a few rounds shows the whole noise of a machine; below this no gain is called one.
local SMALLEST_FLOOR = 0.03

-- Rates of <a> and <b> (lists of slots) in the rounds in which both served. Failed rounds are not left
-- out in silence: judge.pair names no winner when there is one.
local function paired(a, b)
    local by_round, left, right = {}, {}, {}
    for _, slot in ipairs(a) do
        by_round[slot.round] = not summary.slot_failure(slot) and slot.ok_per_s or nil
    end
    for _, slot in ipairs(b) do
        if by_round[slot.round] and not summary.slot_failure(slot) then
            left[#left + 1], right[#right + 1] = by_round[slot.round], slot.ok_per_s
        end
    end
    return left, right
end

--- Noise of a comparison from its A/A twin: {arm, ratios, floor}; floor is a fraction, at least 3 %.
function judge.noise(arms)
    for _, arm in ipairs(arms) do
        local twins = summary.slots_of(arm, true)
        if #twins > 0 then
            local a, b = paired(summary.slots_of(arm), twins)
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

-- What keeps a verdict on <a> and <b> from being given: the trouble of either, nil when both served.
local function trouble_of(a, b)
    local list = {}
    for _, arm in ipairs({ a, b }) do
        local trouble = summary.trouble(arm)
        list[#list + 1] = trouble and arm.key .. " " .. trouble
    end
    return #list > 0 and table.concat(list, "; ") or nil
end

--- Compares arm <a> with arm <b>: {a, b, ratio = b/a, median, low, high, n, winner ("a", "b" or
-- nil), gain, text, trouble}. A median of 1.2 means b was 1.2 times a. When a round of either failed there is
-- no ratio and no winner: what is left of the rounds would be the best of them.
function judge.pair(a, b, floor)
    local trouble = trouble_of(a, b)
    if trouble then
        return { a = a.key, b = b.key, n = 0, trouble = trouble, gain = 0, reason = trouble, text = "not decided: " .. trouble }
    end
    local left, right = paired(summary.slots_of(a), summary.slots_of(b))
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
    failed = "not decided, a stack failed",
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
    local trouble = trouble_of(fast, slow)
    result.today = trouble and "failed" or not result.pair and "open" or winner == "b" and "reproduced" or winner == "a" and "reversed" or "equal"
    result.judgement = artefact and "artefact" or result.today
    result.judgement_text = JUDGEMENTS[result.judgement]
    result.today_text = JUDGEMENTS[result.today]
    result.evidence = artefact or trouble
    return result
end

-- The arithmetic bound of an arm on this machine, client and servers together.
local function bound(arm, comparison, cpus)
    local own = arm.summary
    local cpu_us = (own.server_cpu_us_per_request or 0) + (own.client_cpu_us_per_request or 0)
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
    result.share = result.rate_per_s and own.ok_per_s.median / result.rate_per_s
    local mean = own.response_us and own.response_us.mean
    if mean and own.failed_share == 0 then
        result.little = own.ok_per_s.median * mean / 1e6 / comparison.load.connections
    end
    return result
end

--- Completes the record of a comparison: summaries, noise, bounds, pairs against the first arm,
-- tuned against documented, tuned against the floor, and the claims. <cpus>: processors of the machine.
function judge.comparison(record, cpus)
    local documented, measured = {}, {}
    for _, arm in ipairs(record.arms) do
        arm.summary = summary.of(summary.slots_of(arm), arm.merged)
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
