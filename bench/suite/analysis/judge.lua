-- From slots to conclusions: what each arm achieved, how two arms compare, and what remains of a
-- published claim. Pure: tables in, tables out.

local sequential = require("bench.suite.analysis.sequential")
local statistics = require("bench.suite.analysis.statistics")
local summary = require("bench.suite.analysis.summary")

local judge = {}

-- A published row is not a rate of real answers when more than this part of it failed.
local PUBLISHED_LIMIT = 0.01
-- Answers whose length differs by more than this part are another amount of work.
local UNLIKE_BYTES = 0.05
-- No A/A run of a few rounds shows the whole noise of a machine; below this no gain is called one.
local SMALLEST_FLOOR = 0.03

-- Rates (or what <pick> finds) of <a> and <b> (lists of slots) in the rounds in which both served. Failed rounds are not left
-- out in silence: judge.pair names no winner when there is one.
local function paired(a, b, pick)
    local by_round, left, right = {}, {}, {}
    pick = pick or function(slot)
        return slot.ok_per_s
    end
    for _, slot in ipairs(a) do
        by_round[slot.round] = not summary.slot_failure(slot) and pick(slot) or nil
    end
    for _, slot in ipairs(b) do
        local value = by_round[slot.round] and not summary.slot_failure(slot) and pick(slot)
        if value then
            left[#left + 1], right[#right + 1] = by_round[slot.round], value
        end
    end
    return left, right
end

--- Noise of a comparison from its A/A twin: {arm, ratios, measured, floor}; floor is a fraction, at least
-- 3 %. measured is nil where no pair was.
function judge.noise(arms)
    for _, arm in ipairs(arms) do
        local twins = summary.slots_of(arm, true)
        if #twins > 0 then
            local a, b = paired(summary.slots_of(arm), twins)
            local ratios = {}
            for i = 1, #a do
                ratios[i] = b[i] / a[i]
            end
            local measured = statistics.noise_robust(a, b)
            return { arm = arm.key, ratios = ratios, measured = measured, floor = math.max(SMALLEST_FLOOR, measured or 0) }
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

-- Processor time per correct answer of the servers in the rounds in which both served.
local function paired_cpu(a, b)
    return paired(a, b, function(slot)
        local us = (slot.resources or {}).server_cpu_us_per_request
        return us and us > 0 and us or nil
    end)
end

local function span_of(seen)
    return ("ratio %.3f, interval %.3f to %.3f, %d pairs"):format(seen.ratio, seen.low, seen.high, seen.n)
end

-- The words for what a look at the pairs of <a> and <b> (names) decided. more: what the larger side is.
local function words(seen, a, b, more)
    if seen.decision == "few" then
        return ("no verdict: %d %s, five are the fewest for one"):format(seen.n, seen.n == 1 and "pair" or "pairs")
    elseif seen.decision == "equal" then
        return ("equal within %.0f %% (%s)"):format(sequential.margin * 100, span_of(seen))
    elseif seen.decision == "open" then
        return ("no difference shown (%s); about %d rounds would be needed"):format(span_of(seen), seen.needed)
    end
    local larger, smaller = seen.decision == "b" and b or a, seen.decision == "b" and a or b
    local gain = math.exp(math.abs(math.log(seen.ratio)))
    return more:format(larger, gain, smaller) .. (" (%s)"):format(span_of(seen))
end

--- Compares arm <a> with arm <b>: {a, b, ratio = b/a, median, low, high (95 % over all looks), n, decision ("a",
-- "b", "equal", "open", "few"), winner ("a", "b" or nil), gain, text, needed (rounds that an open one would take),
-- cpu (the same for the processor time of an answer; its winner is the cheaper side), trouble}. A ratio of
-- 1.2 means b was 1.2 times a. When a round of either failed there is no ratio and no winner: what is left
-- of the rounds would be the best of them.
function judge.pair(a, b, floor)
    local trouble = trouble_of(a, b)
    if trouble then
        return { a = a.key, b = b.key, n = 0, trouble = trouble, gain = 0, reason = trouble, text = "not decided: " .. trouble }
    end
    local own, other = summary.slots_of(a), summary.slots_of(b)
    local left, right = paired(own, other)
    local seen = sequential.judge(left, right, floor) or { n = 0, decision = "few" }
    local winner = (seen.decision == "a" or seen.decision == "b") and seen.decision or nil
    local pair = {
        a = a.key, b = b.key, ratio = seen.ratio, median = seen.median, low = seen.low, high = seen.high, n = seen.n,
        decision = seen.decision, needed = seen.needed, winner = winner,
        gain = seen.ratio and math.exp(math.abs(math.log(seen.ratio))) - 1 or 0,
        text = words(seen, a.key, b.key, "%s is %.2f times %s"),
    }
    pair.reason = not winner and pair.text or nil
    -- Upside down: more time is less good.
    local cpu_a, cpu_b = paired_cpu(own, other)
    local cpu = sequential.judge(cpu_b, cpu_a, floor)
    if cpu and cpu.decision ~= "few" then
        pair.cpu = { ratio = cpu.ratio, low = cpu.low, high = cpu.high, n = cpu.n, decision = cpu.decision,
            winner = (cpu.decision == "a" or cpu.decision == "b") and cpu.decision or nil,
            text = words(cpu, a.key, b.key, "%s costs a factor of %.2f less than %s") }
    end
    return pair
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

-- What a judgement is called where something was published, and where somebody just asked.
local PUBLISHED_TEXTS = {
    artefact = "artefact of the measurement",
    reproduced = "reproduced",
    reversed = "reversed",
    same = "equal within 10 %",
    equal = "no difference shown",
    few = "no verdict",
    failed = "not decided, a stack failed",
    open = "not measured",
}
local OWN_TEXTS = setmetatable({ reproduced = "confirmed", reversed = "the other way round" }, { __index = PUBLISHED_TEXTS })

local function reason_open(...)
    local parts = {}
    for _, arm in ipairs({ ... }) do
        if not arm.summary then
            parts[#parts + 1] = ("%s: %s"):format(arm.key, arm.reason and tostring(arm.reason):match("^[^\n]*")
                or arm.state or "was not part of this run")
        end
    end
    return table.concat(parts, "; ")
end

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

-- A claim's measured side: the arm of that key, else of that label, as documented if it ran so. An arm that
-- never came to be measured stands in as not measured, so that no claim vanishes.
local function arm_named(arms, name)
    local chosen
    for _, arm in ipairs(arms) do
        if arm.key == name then
            return arm
        elseif arm.label == name and (not chosen or arm.variant == "documented") then
            chosen = arm
        end
    end
    return chosen or { key = name, label = name, slots = {} }
end

-- How the answers of the two arms differ, as text; nil when they are alike.
local function unlike(a, b)
    local one, two = a.verified or {}, b.verified or {}
    if one.status ~= two.status and one.status and two.status then
        return ("the answers differ in status: %s %d, %s %d"):format(a.key, one.status, b.key, two.status)
    elseif one.bytes and two.bytes and math.abs(one.bytes - two.bytes) > UNLIKE_BYTES * math.max(one.bytes, two.bytes) then
        return ("the answers differ in length: %s %d bytes, %s %d bytes"):format(a.key, one.bytes, b.key, two.bytes)
    end
end

-- Today's judgement of a pair that was measured: by its decision.
local TODAY = { b = "reproduced", a = "reversed", equal = "same", open = "equal", few = "few" }

-- The second witness beside the rate: says so when the processor time per answer decides otherwise.
local function witness(pair)
    local cpu = pair and pair.cpu
    if not cpu or not cpu.winner then
        return nil
    elseif pair.winner and cpu.winner ~= pair.winner then
        return ("the rate and the processor time of an answer disagree: the claim is about the rate; by processor time %s"):format(cpu.text)
    elseif not pair.winner and pair.decision ~= "few" then
        return "by processor time of an answer, " .. cpu.text
    end
end

--- Judges one claim on the arms (list) that it names. {faster, slower (keys of the arms), published_ratio,
-- pair = the slower against the faster, judgement, judgement_text, today, today_text, evidence, unlike
-- (how the answers differ), witness (what the processor time says)}. judgement: reproduced, reversed, same
-- (equal within 10 %), equal (no difference shown in the time), few, failed, open, or artefact.
function judge.claim(claim, arms, floor)
    local fast, slow = arm_named(arms, claim.faster), arm_named(arms, claim.slower)
    local result = { faster = fast.key, slower = slow.key }
    if fast.published and slow.published then
        result.published_ratio = fast.published.rate_per_s / slow.published.rate_per_s
    end
    local texts = (fast.published or slow.published) and PUBLISHED_TEXTS or OWN_TEXTS
    local measured = fast.summary and slow.summary
    result.pair = measured and judge.pair(slow, fast, floor) or nil
    local artefact = artefact_evidence(fast, slow)
    local trouble = trouble_of(fast, slow)
    result.today = trouble and "failed" or not result.pair and "open" or TODAY[result.pair.decision] or "few"
    result.judgement = artefact and "artefact" or result.today
    result.judgement_text = texts[result.judgement]
    result.today_text = texts[result.today]
    result.unlike = unlike(fast, slow)
    result.witness = witness(result.pair)
    result.evidence = artefact or trouble or result.today == "open" and reason_open(fast, slow) or nil
    return result
end

-- Waits shorter than this are not told from the network's own time.
local SHORTEST_WAIT_S = 0.001

-- The arithmetic bound of an arm on this machine, client and servers together: processors / processor time of
-- an answer; clients / waiting time, since a client asks again only when it has its answer; and
-- children / waiting time where a waiting page holds a child. The waiting time is the document's, else the shortest
-- answer seen, which nobody could have had sooner.
local function bound(arm, comparison, cpus)
    local own = arm.summary
    local cpu_us = (own.server_cpu_us_per_request or 0) + (own.client_cpu_us_per_request or 0)
    local result = { processor_per_s = cpu_us > 0 and cpus * 1e6 / cpu_us or nil }
    local shortest_s = ((own.response_us or {}).min or 0) / 1e6
    local wait_s = comparison.load.wait_s or shortest_s >= SHORTEST_WAIT_S and shortest_s or nil
    if wait_s then
        result.clients_per_s = comparison.load.connections / wait_s
        local holds = comparison.load.wait_s and arm.blocking ~= false or arm.blocking
        result.children_per_s = holds and arm.children and arm.children / wait_s or nil
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
        arm.trouble = summary.trouble(arm)
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
    for i, claim in ipairs(record.published_claims or {}) do
        record.claims[i] = judge.claim(claim, record.arms, record.noise.floor)
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
