#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The stopping rule keeps its error: 2,000 simulated runs with equal arms, with a true lead of 1.3 on a busy
-- machine, and with equal arms on a quiet one.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local sequential = require("bench.suite.analysis.sequential")
local synthetic = require("synthetic")

local RUNS = 2000

-- A busy machine: 12 % from round to round, and one slot in twelve loses another fifth to another program.
local function busy(random, rate)
    return rate * math.exp(0.12 * synthetic.normal(random)) * (random() < 1 / 12 and 0.8 or 1)
end
local function quiet(random, rate)
    return rate * math.exp(0.03 * synthetic.normal(random))
end

-- Measures until the rule stops, as run/comparison.lua does; counts of the decisions.
local function simulate(noise, ratio, floor, seed)
    local random, counts, rounds = synthetic.generator(seed), { a = 0, b = 0, equal = 0, open = 0 }, 0
    for _ = 1, RUNS do
        local a, b, seen = {}, {}, nil
        repeat
            a[#a + 1], b[#b + 1] = noise(random, 1000), noise(random, 1000 * ratio)
            seen = sequential.due(#a) and sequential.judge(a, b, floor) or seen
        until seen and seen.decision ~= "open" or #a >= sequential.most
        counts[seen.decision], rounds = counts[seen.decision] + 1, rounds + #a
    end
    return counts, rounds / RUNS
end

local counts = simulate(busy, 1, 0, 3)
t.ok(counts.a + counts.b <= 0.05 * RUNS, ("equal arms, no floor: a difference is named in %d of %d (at most 5 %%)"):format(
    counts.a + counts.b, RUNS))
counts = simulate(busy, 1, 0.03, 4)
t.ok(counts.a + counts.b <= 0.05 * RUNS, ("with the noise floor: in %d"):format(counts.a + counts.b))
local rounds
counts, rounds = simulate(busy, 1.3, 0.03, 5)
t.ok(counts.b >= 0.9 * RUNS, ("a lead of 1.3 on a busy machine is found in %d of %d, after %.1f rounds"):format(counts.b, RUNS, rounds))
t.ok(counts.a + counts.equal <= 0.01 * RUNS, ("and never called equal or reversed (%d)"):format(counts.a + counts.equal))
counts, rounds = simulate(quiet, 1, 0.03, 6)
t.ok(counts.equal >= 0.9 * RUNS, ("equal arms on a quiet machine are called equal in %d, after %.1f rounds"):format(counts.equal, rounds))
counts = simulate(quiet, 1 + sequential.margin, 0.2, 7)
t.ok(counts.equal <= 0.05 * RUNS, ("arms just as far apart as the margin are called equal in %d (at most 5 %%)"):format(counts.equal))

local total = 0
for _, look in ipairs(sequential.looks) do
    total = total + look.alpha
end
t.ok(math.abs(total - 0.05) < 1e-12, "the looks share out 5 %")
local four = sequential.judge({ 1, 1, 1, 1 }, { 2, 2, 2, 2 }, 0.03)
t.is(four.decision, "few", "four pairs decide nothing")
t.is(sequential.judge({}, {}, 0), nil, "no pairs, no answer")
local open = sequential.judge({ 100, 100, 100, 100, 100 }, { 80, 130, 90, 125, 100 }, 0.03)
t.ok(open.decision == "open" and open.needed > 14, ("an open one says how many rounds it would take (%d)"):format(open.needed or 0))
local same = sequential.judge({ 5, 5, 5, 5, 5 }, { 6, 6, 6, 6, 6 }, 0.03)
t.ok(same.decision == "b" and same.low > 1.19 and same.high < 1.21, "pairs without any noise decide at once")

t.done()
