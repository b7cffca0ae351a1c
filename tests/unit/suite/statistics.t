#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The suite's statistics agree with published examples, and equals are called equal.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local statistics = require("bench.suite.analysis.statistics")

local function near(got, want, tolerance, name)
    t.ok(got and math.abs(got - want) <= (tolerance or 1e-9) * math.max(1, math.abs(want)),
        ("%s (got %s, want %s)"):format(name, tostring(got), tostring(want)))
end

-- NIST Statistical Reference Datasets, univariate: certified values.
local function nist(first, low, high, count)
    local list = { first }
    for i = 2, count do
        list[i] = i % 2 == 0 and low or high
    end
    return list
end
local datasets = {
    { "NumAcc1", { 10000001, 10000003, 10000002 }, 10000002, 1, 1e-12 },
    { "NumAcc2", nist(1.2, 1.1, 1.3, 1001), 1.2, 0.1, 1e-12 },
    { "NumAcc3", nist(1000000.2, 1000000.1, 1000000.3, 1001), 1000000.2, 0.1, 1e-8 },
    { "NumAcc4", nist(10000000.2, 10000000.1, 10000000.3, 1001), 10000000.2, 0.1, 1e-7 },
}
for _, d in ipairs(datasets) do
    near(statistics.mean(d[2]), d[3], 1e-14, "NIST " .. d[1] .. " mean")
    near(statistics.stdev(d[2]), d[4], d[5], "NIST " .. d[1] .. " standard deviation")
end

t.is(statistics.median({ 3, 1, 2 }), 2, "median of an odd count")
t.is(statistics.median({ 4, 1, 3, 2 }), 2.5, "median of an even count averages the middle two")
t.is(statistics.median({}), nil, "median of nothing is nil")

-- Student's t, printed tables (NIST/SEMATECH e-Handbook 1.3.6.7.2), to their three decimals.
for df, want in pairs({ [1] = 12.706, [2] = 4.303, [3] = 3.182, [4] = 2.776, [9] = 2.262, [30] = 2.042,
    [100] = 1.984 }) do
    near(statistics.t_quantile(df), want, 2e-4, "t, 95 %, df " .. df)
end
near(statistics.t_quantile(1), math.tan(0.475 * math.pi), 1e-9, "t with df 1 is Cauchy: exact")
near(statistics.t_quantile(1e6), 1.959964, 2e-6, "t tends to the normal quantile")
near(statistics.t_quantile(10, 0.99), 3.169, 2e-4, "t, 99 %, df 10")

-- "Student" (1908), The probable error of a mean: extra hours of sleep, ten pairs.
-- t.test(sleep, paired) in R prints the interval 0.7001142 to 2.4598858 around 1.58.
local hours = { 1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4 }
local sleep = statistics.interval(hours)
near(sleep.mean, 1.58, 1e-12, "Student's sleep data: mean")
near(sleep.low, 0.7001142, 1e-7, "Student's sleep data: lower bound")
near(sleep.high, 2.4598858, 1e-7, "Student's sleep data: upper bound")
local ones, powers = {}, {}
for i, d in ipairs(hours) do
    ones[i], powers[i] = 100, 100 * math.exp(d)
end
local ratio = statistics.ratio(ones, powers)
near(ratio.ratio, math.exp(1.58), 1e-9, "ratio of pairs: geometric mean")
near(ratio.low, math.exp(0.7001142), 1e-6, "ratio of pairs: lower bound")
near(ratio.high, math.exp(2.4598858), 1e-6, "ratio of pairs: upper bound")
t.is(ratio.smoke, false, "ten pairs are no smoke test")
local dropped = statistics.ratio({ 1, 0, 2 }, { 2, 5, 4 })
t.is(dropped.dropped, 1, "a pair in which nothing succeeded is left out and counted")
t.is(dropped.smoke, true, "two pairs are a smoke test")
t.is(statistics.ratio({}, {}), nil, "no pairs, no ratio")
t.is(statistics.ratio({ 1 }, { 2 }).low, nil, "one pair has no interval")

-- The same data taken as unpaired, t.test(extra ~ group) in R: means 0.75 and 2.33,
-- interval of the difference -3.3654832 to 0.2054832 (Welch, df 17.776).
local first = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2 }
local second = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 }
for i = 1, 10 do
    first[i], second[i] = math.exp(first[i]), math.exp(second[i])
end
local welch = statistics.ratio_unpaired(second, first)
near(math.log(welch.ratio), 0.75 - 2.33, 1e-9, "unpaired ratio: geometric means")
near(math.log(welch.low), -3.3654832, 1e-7, "unpaired ratio: Welch's lower bound")
near(math.log(welch.high), 0.2054832, 1e-6, "unpaired ratio: Welch's upper bound")
t.is(statistics.ratio_unpaired({}, { 1 }), nil, "no values on a side, no ratio")

near(statistics.noise_floor({ 100, 100, 100 }, { 101, 98, 100 }), 100 / 98 - 1, 1e-12,
    "noise floor: the largest difference of a pair, whichever side was faster")
-- Student's paired interval of the same data: 0.70 to 2.46.
near(statistics.noise_of_mean(first, second), math.exp(2.4598858) - 1, 1e-6,
    "noise of a mean: the far end of its interval, when that is less than the largest difference")
near(statistics.noise_of_mean(second, first), math.exp(2.4598858) - 1, 1e-6, "whichever side was faster")
near(statistics.noise_of_mean({ 100, 100 }, { 101, 98 }), 100 / 98 - 1, 1e-12, "two pairs: the largest difference")
t.is(statistics.noise_of_mean({}, {}), 0, "no pairs, no noise seen")

-- Verdicts.
local function verdict(a, b, floor)
    return statistics.verdict(statistics.ratio(a, b), floor, { a = "x", b = "y" })
end
t.is(verdict({ 10, 11, 10, 11, 10 }, { 20, 22, 21, 22, 20 }, 0.05).winner, "b", "a clear winner is named")
t.is(verdict({ 20, 22, 21, 22, 20 }, { 10, 11, 10, 11, 10 }, 0.05).winner, "a", "and on the other side")
local close = verdict({ 100, 101, 100, 99, 100 }, { 103, 104, 103, 102, 103 }, 0.05)
t.is(close.winner, nil, "a gain within the noise floor is no win")
t.like(close.text, "^no difference shown", "and it says so in words")
t.like(verdict({ 10, 20, 10, 20, 10 }, { 20, 10, 20, 10, 20 }, 0).text, "^no difference shown",
    "an interval that holds 1 is no win")
t.like(verdict({ 1 }, { 2 }, 0).text, "^no verdict: 1 pair,", "one pair decides nothing")
t.is(verdict({ 1, 1, 1, 1 }, { 2, 2.01, 2, 2 }, 0.01).winner, nil, "four pairs name no winner, however far apart")

-- A/A: a stack against itself. Rates with 3 % noise and a drift that both sides of a pair share.
math.randomseed(20260101)
local function normal()
    return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end
local function rounds(count, gain)
    local a, b = {}, {}
    for i = 1, count do
        local drift = 1000 * (1 + 0.1 * math.sin(i))
        a[i] = drift * math.exp(0.03 * normal())
        b[i] = drift * math.exp(0.03 * normal()) * gain
    end
    return a, b
end
local equal, found = 0, 0
for _ = 1, 20 do
    local floor = statistics.noise_floor(rounds(5, 1))
    if not statistics.verdict(statistics.ratio(rounds(5, 1)), floor).winner then
        equal = equal + 1
    end
    if statistics.verdict(statistics.ratio(rounds(5, 1.3)), floor).winner == "b" then
        found = found + 1
    end
end
t.ok(equal >= 19, ("A/A: no difference shown in %d of 20 tries"):format(equal))
t.ok(found >= 19, ("a gain of 30 %% is found in %d of 20 tries"):format(found))

-- Percentiles. Bland, An Introduction to Medical Statistics: median of 57 observations, ranks 22 and 36.
local low, high = statistics.percentile_ranks(57, 0.5)
t.is(low .. " " .. high, "22 36", "order-statistic interval of the median, n = 57")
t.is(statistics.samples_needed(0.99), 1000, "p99 needs 1,000 samples")
t.is(statistics.samples_needed(0.999), 10000, "p99.9 needs 10,000 samples")
t.is(statistics.samples_needed(0.5), 20, "p50 needs 20 samples")
local hundred = {}
for i = 1, 100 do
    hundred[i] = 101 - i
end
local p90 = statistics.percentile(hundred, 0.9)
t.is(p90.value, 90, "nearest rank: p90 of 1..100 is 90")
t.is(p90.enough, true, "100 samples are enough for p90")
t.is(statistics.percentile(hundred, 0.99).enough, false, "and too few for p99")
t.is(statistics.percentile({}, 0.5), nil, "no samples, no percentile")

-- Steady state.
t.is(statistics.steady_from({ 10, 50, 90, 100, 101, 99 }), 4, "steady from the fourth window on")
t.is(statistics.steady_from({ 10, 50, 90 }), nil, "a ramp is not steady")
t.is(statistics.steady_from({ 0, 0, 0, 0 }), nil, "no answers at all is not steady")
t.is(statistics.steady_from({ 100, 100 }), nil, "two windows are not enough")

-- Outliers. Iglewicz and Hoaglin (1993), as worked in the NIST/SEMATECH e-Handbook spirit.
t.is(statistics.mad({ 1, 1, 2, 2, 4, 6, 9 }), 1, "MAD of 1 1 2 2 4 6 9 is 1")
t.is(table.concat(statistics.outliers({ 2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3 }), " "), "9 10",
    "modified Z-score flags 8.2 and 8.3 that a plain Z-score misses")
t.is(#statistics.outliers({ 5, 5, 5, 5, 9 }), 0, "nothing is flagged when most values are equal")

near(statistics.little_deviation(20, 50, 1000), 0, 1e-12, "Little: 20/s with 50 s each holds 1,000 clients")
near(statistics.little_deviation(20, 0.4, 1000), 0.992, 1e-12, "Little: missing queue time shows")

t.done()
