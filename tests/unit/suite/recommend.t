#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The recommended child count is what the arithmetic says, and is refused when the data cannot say.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local recommend = require("bench.suite.tune.recommend")
local statistics = require("bench.suite.analysis.statistics")
local usl = require("bench.suite.analysis.usl")

math.randomseed(7)
-- A row whose rounds scatter by +-<noise>, in a fixed pattern.
local function row(children, per_s, options)
    options = options or {}
    local rates, scatter = {}, options.noise or 0.01
    for round, sign in ipairs({ -1, 0, 1 }) do
        rates[round] = per_s * (1 + sign * scatter * (0.9 + 0.1 * math.random()))
    end
    return { children = children, rates = rates, rounds = 3, rate = statistics.interval(rates), verdict = "ok",
        flaw = options.flaw, p99_us = options.p99_us, pss_kib = options.pss_kib, cpu = options.cpu }
end
local function sweep(counts, rate, options)
    local rows = {}
    for i, n in ipairs(counts) do
        rows[i] = row(n, rate(n), options)
    end
    return rows
end

-- Sleep of 400 ms, 64 clients: linear up to 64 children.
local sleep = { cpu_s = 5e-5, wait_s = 0.4, cores = 2, clients = 64 }
local function sleeping(n)
    return usl.bound(sleep, n).per_s
end
local rows = sweep({ 1, 4, 16, 32, 64, 128 }, sleeping)
local wanted = recommend.refine(rows, {})
t.is(table.concat(wanted, " "), "61 58", "the refinement looks where the bound says: 95 % of 64 clients")
for _, n in ipairs(wanted) do
    rows[#rows + 1] = row(n, sleeping(n))
end
t.is(#recommend.refine(rows, {}), 0, "after which the gap is closed")
local best = recommend.choose(rows, {}, sleep, 0.01)
t.ok(best.children >= 0.9 * 61 and best.children <= 1.1 * 61, "sleep: within 10 % of 61: " .. tostring(best.children))
t.is(best.binding, "clients", "sleep: the clients are the limit")
t.like(best.why, "64 clients", "and the reason has the figures")
t.is(best.fit.better, "bound", "sleep: the bound fits better than the scalability law")
t.is(best.confidence, "high", "with little noise the confidence is high: " .. best.confidence_why)

-- Two cores, 1 ms of CPU and 3 ms of waiting: fill count 8.
local mixed = { cpu_s = 1e-3, wait_s = 3e-3, cores = 2, clients = 1000 }
rows = sweep({ 1, 2, 4, 6, 8, 12, 16 }, function(n)
    return usl.bound(mixed, n).per_s
end, { cpu = { pool = 1.9, front = 0.05 } })
best = recommend.choose(rows, {}, mixed, 0.01)
t.is(best.children, 8, "the fill count: cores x (cpu + wait) / cpu")
t.is(best.binding, "cpu", "the processors are the limit")
t.is(table.concat(recommend.refine(rows, {}), " "), "7", "between 6 and 8 one count is left to try")

-- Goals.
rows = {}
for i, n in ipairs({ 1, 2, 4, 8, 16 }) do
    rows[i] = row(n, math.min(n, 8) * 100, { p99_us = n >= 16 and 9000 or 80000 / n, pss_kib = 1000 + 500 * n })
end
t.is(recommend.choose(rows, { p99_us = 12000 }, nil, 0.01).children, 8, "a latency goal that 8 children meet")
t.is(recommend.choose(rows, { p99_us = 9500 }, nil, 0.01).children, 16, "a tighter one needs 16")
local none = recommend.choose(rows, { p99_us = 1000 }, nil, 0.01)
t.is(none.children, nil, "a goal that no count meets: none is recommended")
t.like(none.refused, "^CAPACITY EXHAUSTED: no count meets p99 <= 1 ms; 16 children come nearest",
    "and what came nearest is told")
local memory = recommend.memory(rows, 3100)
t.is(memory.per_child_kib .. " " .. memory.base_kib .. " " .. memory.cap, "500 1000 4",
    "memory is a base and a part per child")
local capped = recommend.choose(rows, { memory_kib = 3100 }, nil, 0.01)
t.is(capped.children .. " " .. capped.binding, "4 memory", "a memory cap binds before the rate does")
t.like(recommend.choose(rows, { memory_kib = 1200 }, nil, 0.01).refused,
    "^CAPACITY EXHAUSTED: even 1 children need", "not even one fits")
t.is(recommend.choose(rows, { rate_per_s = 390 }, nil, 0.01).children, 4,
    "an asked rate: the smallest count that keeps up")
t.is(recommend.choose(rows, { rate_per_s = 390 }, nil, 0.01).binding, "rate", "and the rate is what binds")
t.like(recommend.choose(rows, { rate_per_s = 5000 }, nil, 0.01).refused, "reaches 8%d%d%.?%d*/s of 5000/s",
    "a rate out of reach")

-- Refusals.
local flat = sweep({ 1, 2, 4, 8 }, function(n)
    return 1000 + n
end, { noise = 0.03 })
local alike = recommend.choose(flat, {}, nil, 0.08)
t.is(recommend.count_text(alike), "1 child, and any count above serves alike", "a gain within the noise: the smallest count will do")
t.like(alike.confidence .. ": " .. alike.confidence_why, "^medium: no count is shown to be better", "and it says why")
local refused = recommend.choose(flat, {}, nil, 0.3)
t.is(refused.children, nil, "in noise that could hide a gain worth having nothing is recommended")
t.like(refused.refused, "no count is shown to be better", "and it says so")
t.like(recommend.choose(flat, {}, nil, 0.5).remedy, "a quiet machine", "on a noisy one a quieter machine helps")
-- The processors tell what the noise hides: one child with 1.8 of 2 in use has 11 % to gain at most.
local function flat_with(cpu)
    local list = sweep({ 1, 2, 4, 8 }, function(n)
        return 1000 + n
    end, { cpu = cpu })
    return recommend.choose(list, {}, { cpu_s = 1e-4, wait_s = 0, cores = 2 }, 0.3)
end
local full = flat_with({ pool = 0.8, front = 0.6, client = 0.4, other = 0.01 })
t.is(full.children .. " " .. full.confidence, "1 low", "full processors: the smallest count, with low confidence")
t.like(full.confidence_why, "leaves only 10.6 %% to gain", "and the room that is left")
t.is(flat_with({ pool = 0.3, front = 0.95, client = 0.3 }).children, 1, "a busy web server in front says the same")
t.is(flat_with({ pool = 0.8, front = 0.3, client = 0.3 }).children, nil, "processors with room left say nothing")
t.is(flat_with({ pool = 0.8, front = 0.3, client = 0.1, other = 0.8 }).children, 1, "what other programs use is not ours to gain")
local busy = sweep({ 1, 2, 4, 8 }, function(n)
    return 1000 * n
end, { flaw = "client" })
t.like(recommend.choose(busy, {}, nil, 0.01).refused, "load client was the limit",
    "a saturated client is no recommendation")
local broken = sweep({ 1, 2, 4, 8 }, function(n)
    return 1000 * n
end)
for i = 2, 4 do
    broken[i].flaw = "failures"
end
t.like(recommend.choose(broken, {}, nil, 0.01).refused, "only 1 of 4 rows can be used",
    "rows with failures decide nothing")
local last = recommend.choose(sweep({ 1, 2, 4, 8 }, function(n)
    return 100 * n
end), {}, nil, 0.01)
t.is(last.children .. " " .. last.binding, "8 children", "a rate that still rises says: measure more")
t.is(recommend.count_text(last) .. ", " .. last.confidence, "at least 8 children, low", "and is no more than a lower bound")
t.is(recommend.count_text(best), "8 children", "elsewhere the count is the count")
t.is(recommend.choose(sweep({ 1, 2, 4, 8 }, function(n)
    return 100 * n
end, { noise = 0.2 }), {}, nil, 0.3).confidence, "low", "noisy rounds give low confidence")
local web = recommend.choose(sweep({ 1, 2, 4, 8 }, function(n)
    return math.min(n, 2) * 1000
end, { cpu = { pool = 0.4, front = 0.95 } }), {}, { cpu_s = 1e-4, wait_s = 0, cores = 8 }, 0.01)
t.is(web.binding .. " " .. web.children, "front 2", "a web server with one busy process is named")

-- Lines to paste, and the paper.
t.is(recommend.backlog(64, 4096), 128, "backlog for 64 clients")
t.is(recommend.backlog(1000, 4096), 2048, "backlog for 1,000 clients")
t.is(recommend.backlog(100000, 4096), 4096, "never above what the kernel grants")
t.is(recommend.keepalive(8, 2, true), 3, "kept connections of a blocking pool: 2 workers x 3 < 8 children")
t.is(recommend.keepalive(1, 1, true), 0, "one blocking child: none")
t.ok(recommend.keepalive(1, 1, false) >= 8, "a pool that does not block may keep more than it has children")
local paper = recommend.capacity(100, { best_per_s = 160, children = 61, memory_kib = 10240, response_s = 0.4 })
local text = {}
for i, line in ipairs(paper) do
    text[i] = ("%dx: %d hosts %d children %d MiB %d connections"):format(line.times, line.hosts, line.children,
        line.memory_kib / 1024, line.connections)
end

    t.is(table.concat(text, "; "), "1x: 1 hosts 61 children 10 MiB 40 connections; 10x: 9 hosts 549 children 90 MiB 400 connections; "

    .. "100x: 90 hosts 5490 children 900 MiB 4000 connections; 1000x: 893 hosts 54473 children 8930 MiB 40000 connections",
    "capacity on paper: 70 % of 160/s for each host")
t.done()
