#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Verdicts: equals are called equal, winners need an interval and a gain, published errors are artefacts.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local compare = require("bench.suite.report.compare")
local documents = require("bench.suite.run.documents")
local judge = require("bench.suite.analysis.judge")
local summary = require("bench.suite.analysis.summary")
local synthetic = require("synthetic")

local random = synthetic.generator(11)

-- An arm with the given rates, one slot a round; failed: share of the requests that fail.
local function arm(key, rates, fields)
    local made = { key = key, label = key, variant = "documented", slots = {} }
    for round, rate in ipairs(rates) do
        local failed = math.floor(rate * (fields and fields.failed or 0))
        made.slots[round] = {
            round = round, ok_per_s = rate, elapsed_s = 1, foreign_cpus = fields and fields.foreign,
            client = { requests = { started = rate + failed, ok = rate, failed = failed }, failures = { status = failed }, elapsed_s = 1,
                status = { ["2xx"] = rate, ["5xx"] = failed }, verdict = "valid", client_cpu_s = 0.2,
                    response_us = { mean = 1e7 / rate } },
            resources = { groups = {}, server_cpu_us_per_request = 50 },
        }
    end
    for name, value in pairs(fields or {}) do
        made[name] = value
    end
    return made
end

local function noisy(rate, deviation, count)
    local rates = {}
    for i = 1, count do
        rates[i] = math.floor(rate * math.exp(deviation * synthetic.normal(random)))
    end
    return rates
end

-- Twenty times the same stack twice: at least nineteen must show no difference.
local equal = 0
for _ = 1, 20 do
    local a, b = arm("a", noisy(5000, 0.05, 5)), arm("b", noisy(5000, 0.05, 5))
    for i, rate in ipairs(noisy(5000, 0.05, 5)) do
        local twin = arm("a", { rate }).slots[1]
        twin.round, twin.twin = i, true
        a.slots[#a.slots + 1] = twin
    end
    local pair = judge.pair(a, b, judge.noise({ a, b }).floor)
    equal = equal + (pair.winner and 0 or 1)
end
t.ok(equal >= 19, ("the same stack against itself: no difference shown in %d of 20"):format(equal))

local fast, slow = arm("fast", noisy(7000, 0.03, 5)), arm("slow", noisy(5000, 0.03, 5))
t.is(judge.pair(slow, fast, 0.05).winner, "b", "a lead of 40 % is shown")
t.is(judge.pair(slow, fast, 0.60).winner, nil, "not when the noise is larger")
t.is(judge.pair(slow, arm("one", { 9000 }), 0.05).winner, nil, "not from a single round")

-- Claims.
local function claim_of(published_fast, published_slow, rates_fast, rates_slow)
    local arms = { a = arm("a", rates_fast, { published = published_fast }), b = arm("b", rates_slow, { published = published_slow }) }
    for _, each in pairs(arms) do
        each.summary = summary.of(each.slots)
    end
    return judge.claim({ faster = "a", slower = "b" }, { arms.a, arms.b }, 0.05)
end
local clean = { rate_per_s = 200, requests = 100, failed = 0, non_2xx = 0 }
local errors = { rate_per_s = 400, requests = 3000, failed = 801, failed_kind = "length", non_2xx = 2199 }
local high, low = noisy(7000, 0.02, 5), noisy(5000, 0.02, 5)
t.is(claim_of(clean, clean, high, low).judgement, "reproduced", "the same winner: reproduced")
t.is(claim_of(clean, clean, low, high).judgement, "reversed", "another winner: reversed")
t.is(claim_of(clean, clean, low, low).judgement, "same", "the same rates: equal within 10 %")
local wide = claim_of(clean, clean, { 5000, 9000, 4000, 8000, 6000 }, { 8000, 5000, 6000, 4000, 9000 })
t.is(wide.judgement, "equal", "rates that vary too much: no difference shown")
t.like(wide.pair.text, "about %d+ rounds would be needed", "with the rounds that it would take")
local few = claim_of(nil, nil, { 7000, 7000, 7000, 7000 }, { 5000, 5000, 5000, 5000 })
t.is(few.judgement, "few", "four rounds: no verdict, however far apart")
local artefact = claim_of(errors, clean, low, high)
t.is(artefact.judgement, "artefact", "error pages in the listing: an artefact whatever is measured")
t.is(artefact.today, "reversed", "what real answers say stands beside it")
t.like(artefact.evidence, "2199 of 3000", "the evidence is named")
t.ok(not judge.published_errors({ rate_per_s = 1, requests = 100, failed = 40, failed_kind = "length", non_2xx = 0 }),
    "failures of kind length alone are no errors")

-- Summaries.
local broken = summary.of(arm("x", { 100, 100, 100 }, { failed = 0.5 }).slots)
t.like(table.concat(broken.marks, " "), "33%.3 %% of the requests failed", "failures are marked")
t.is(broken.answers_per_s, 150, "what a client that does not look would print")
t.is(broken.requests.failed, 150, "failures are summed over the rounds")
t.like(table.concat(summary.of(arm("x", { 100, 101 }, { foreign = 1 }).slots).marks, " "), "other programs",
    "a busy machine is marked")
t.is(summary.of({}), nil, "nothing measured, no summary")

-- The bound of a page that blocks, and Little's law.
local record = judge.comparison({ load = { connections = 40, wait_s = 0.4 }, arms = { arm("a", { 10, 10, 10 }, { children = 4 }) } }, 2)
local predicted = record.arms[1].predicted
t.is(predicted.children_per_s, 10, "four children that wait 0.4 s answer ten times a second")
t.is(predicted.binding, "children", "and the children are the limit")

-- Two runs.
local all = documents.select(nil, t.root .. "/bench/documents")
local before, same = synthetic.results(all, { seed = 1 }), synthetic.results(all, { seed = 2 })
local result = compare.records(before, same, 0.05)
t.ok(#result.rows > 50, "every arm of two runs is compared")
t.is(result.regressions, 0, "two runs of the same: no regression")
for _, document in ipairs(same.documents) do
    for _, part in ipairs(document.parts) do
        for _, each in ipairs(part.arms or {}) do
            if part.name == "hello-c100" and each.key == "nginx-lua" then
                for i, value in ipairs(each.summary.ok_per_s.values) do
                    each.summary.ok_per_s.values[i] = value * 0.7
                end
            end
        end
    end
end
result = compare.records(before, same, 0.05)
t.is(result.regressions, 1, "one stack 30 % slower: one regression")
t.like(table.concat(compare.text(result), "\n"), "nginx%-lua .*slower", "it is named")

-- What died is failed: no ratio leaves out a round, and both sides of the claim say so.
local died, lives = arm("died", { 94789, 54324, 94660, 100598, 0, 0 }), arm("lives", { 90000, 91000, 90500, 92000, 90100, 90400 })
died.ended = { after_round = 4, reason = "server ended by itself (signal 9)" }
for _, each in ipairs({ died, lives }) do
    each.summary = summary.of(each.slots)
end
t.is(died.summary.ok_per_s.median, 94724.5, "a round without a success is not averaged into the rate")
t.is(died.summary.failed_slots, 2, "it is counted as a failed slot")
local pair = judge.pair(lives, died, 0.05)
t.ok(not pair.ratio and not pair.winner, "no ratio and no winner from the rounds before the end")
t.like(pair.text, "died ended after round 4: server ended by itself", "the end is named")
local judged = judge.claim({ faster = "died", slower = "lives" }, { died, lives }, 0.05)
t.is(judged.judgement, "failed", "a claim about it is not decided")
t.like(judged.evidence, "ended after round 4", "and says why")
local paused = arm("paused", { 100, 0, 100, 100, 100 })
t.is(summary.trouble(paused), "failed in round 2 of 5: no request succeeded", "one slot without a success is trouble too")
t.is(summary.trouble(lives), nil, "an arm that served in every round has none")

-- Claims of one's own are judged on the arms that they name, and none vanishes.
local tuned = arm("nginx-lua", noisy(9000, 0.01, 5), { variant = "tuned" })
local mine = arm("mine", noisy(5000, 0.01, 5), { verified = { status = 200, bytes = 2048 } })
tuned.verified = { status = 200, bytes = 12 }
local own = judge.comparison({ load = { connections = 40 }, arms = { tuned, mine }, published_claims = {
    { faster = "nginx-lua", slower = "mine" }, { faster = "mine", slower = "absent" } } }, 2)
t.is(#own.claims, 2, "every claim has a judgement")
t.is(own.claims[1].judgement_text, "confirmed", "one about a tuned arm is judged on it")
t.like(own.claims[1].unlike, "differ in length: nginx%-lua 12 bytes, mine 2048 bytes", "answers of another length are said")
t.is(own.claims[2].judgement, "open", "one whose arm was not measured says so")
t.is(own.noise.measured, nil, "without a pair of equals no noise is claimed")

-- One bad pair does not make the noise floor.
local once = arm("once", { 100, 100, 100, 100, 100 })
for i, rate in ipairs({ 101.4, 99, 101, 142, 100.5 }) do
    local twin = arm("t", { rate }).slots[1]
    twin.round, twin.twin = i, true
    once.slots[#once.slots + 1] = twin
end
t.ok(judge.noise({ once }).floor < 0.035, ("four pairs within 1.4 %% and one of 42 %%: a floor of %.3f"):format(judge.noise({ once }).floor))

-- A page that waits is not bound by the processor, and no interval of a rate goes below zero.
local waiting = arm("waiting", { 200, 210, 190, 205, 195 })
for _, slot in ipairs(waiting.slots) do
    slot.client.response_us.min = 5100
end
local waits = judge.comparison({ load = { connections = 2 }, arms = { waiting } }, 2)
t.is(waits.arms[1].predicted.binding, "clients", "two clients of a page of 5 ms: bound by waiting")
t.ok(summary.of(arm("wild", { 10, 4000 }).slots).ok_per_s.low >= 0, "no interval below zero")

-- Unlike is not compared: each condition is named.
local function compared(change)
    local one, two = synthetic.results(all, { seed = 1 }), synthetic.results(all, { seed = 2 })
    change(two, two.documents[2].parts[1])
    local outcome = compare.records(one, two, 0.05)
    return outcome, table.concat(compare.text(outcome), "\n")
end
for _, case in ipairs({
    { "connections 100, 64", function(_, part) part.load = setmetatable({ connections = 64 }, { __index = part.load }) end },
    { "kept connections no, yes", function(_, part) part.load = setmetatable({ keep_alive = true }, { __index = part.load }) end },
    { "profile default, quick", function(whole) whole.profile = "quick" end },
    { "hosts none, b %(load%)", function(whole) whole.hosts = { { name = "b", role = "load" } } end },
    { "expected bytes 12, 13", function(_, part) part.expect = setmetatable({ bytes = 13 }, { __index = part.expect }) end },
    { "url none, http://b/", function(_, part) part.arms[1].url = "http://b/" end },
}) do
    local outcome, lines = compared(case[2])
    t.like(lines, "not comparable: [^\n]*" .. case[1], case[1] .. ": named, not comparable")
    t.is(outcome.regressions, 0, case[1] .. ": no regression is made of it")
end
local outcome = compared(function(_, part)
    for _, slot in ipairs(part.arms[1].slots) do
        slot.client.requests.ok, slot.ok_per_s = slot.round == 5 and 0 or slot.client.requests.ok, slot.round == 5 and 0 or slot.ok_per_s
    end
end)
t.is(outcome.regressions, 1, "an arm that fails in B and not in A is a regression")

t.done()
