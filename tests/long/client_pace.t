#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Times as the load client measures them: known delays, a stall in the open and in the closed
-- loop, the schedule, warm-up, pauses; and its rate beside wrk's.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process

local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

-- One run against a server that waits <delay>(n) seconds before answer n.
local function against(delay, ...)
    local server = t.scripted.start {
        answer = function(n)
            return OK, { delay = delay(n) }
        end,
    }
    local report, result = load.run { server.url, timeout = 40, ... }
    local counts = server:counts()
    server:stop()
    return report, result, counts
end

local function none()
    return nil
end

-- A delay can be exceeded, on a busy machine by much, but never undercut.
t.case("known delays", function()
    local report = against(function(n)
        return n % 50 == 0 and 0.030 or 0.002
    end, "-n", 1500, "-c", 1, "-k")
    local us = report.response_us
    t.ok(us.min >= 2000, "no answer is faster than its delay", tostring(us.min))
    t.ok(us.p50 >= 2000 and us.p50 < 4000, "p50 is the common delay of 2 ms", tostring(us.p50))
    t.ok(us.p99 >= 29990 and us.p99 < 60000, "p99 is the rare delay of 30 ms", tostring(us.p99))
    t.ok(math.abs(us.mean * us.count / 1e6 / report.elapsed_s - 1) < 0.05, "one connection's times sum up to the run",
        us.mean * us.count / 1e6 .. " of " .. report.elapsed_s)
end)

-- 1,200 requests are due in 3 s; a stall of 500 ms makes 200 of them wait between 0 and 500 ms.
-- The slowest 12 of all are the slowest 6 % of those: p99 is about 470 ms.
t.case("a stall", function()
    local function stall(n)
        return n == 600 and 0.5 or nil
    end
    local open, result = against(stall, "-R", 400, "-d", "3s", "-c", 8, "-k")
    t.ok(open.response_us.p99 and open.response_us.p99 > 430e3 and open.response_us.p99 < 700e3,
        "stands in the p99 of the open loop", load.summary(open, result) .. tostring(open.response_us.p99))
    local closed = against(stall, "-n", 1200, "-c", 1, "-k")
    t.ok(closed.response_us.p99 < 100e3 and closed.response_us.max >= 500e3, "and only in the maximum of the closed loop",
        tostring(closed.response_us.p99))
    t.like(table.concat(closed.notes, ";"), "queueing is hidden", "which says so")
end)

t.case("the schedule", function()
    for _, threads in ipairs { 1, 2 } do
        local report, result, counts = against(none, "-R", 300, "-d", "1s", "-c", 6, "-k", "-j", threads)
        t.ok(report.requests.started == 300 and report.events.unsent == 0 and counts.requests >= report.requests.ok,
            "300 in a second by " .. threads, load.summary(report, result))
        report, result = against(none, "-R", 300, "-n", 77, "-c", 6, "-k", "-j", threads)
        t.ok(report.requests.ok == 77 and math.abs(report.elapsed_s - 76 / 300) < 0.2, "77 at that rate by " .. threads,
            load.summary(report, result))
    end
end)

t.case("warm-up, ramp, pauses", function()
    local report, result, counts = against(none, "-n", 50, "-c", 2, "-k", "--warmup", "300ms")
    t.ok(report.requests.started == 50 and report.events.warmup_requests > 0
        and counts.requests == 50 + report.events.warmup_requests, "the warm-up is counted apart", load.summary(report, result))
    report, result = against(none, "-d", "700ms", "-c", 10, "-k", "--ramp", "500ms")
    t.ok(report.connections_opened == 10 and report.connections_busy_mean < 9, "the ramp opens one connection after another",
        load.summary(report, result) .. " busy " .. tostring(report.connections_busy_mean))
    report, result = against(none, "-n", 5, "-c", 1, "-k", "--think", "100ms")
    t.ok(report.elapsed_s >= 0.4 and report.response_us.mean < 100e3, "pauses are no response time", load.summary(report, result))
end)

t.case("wrk", function()
    if t.missing("wrk") then
        t.skip("the rate beside wrk's", t.missing("wrk"))
        return
    end
    local server = t.scripted.start {
        answer = function()
            return OK, { delay = 0.001 }
        end,
    }
    local ratios = {}
    for round = 1, 5 do
        local theirs = process.run { "wrk", "-t1", "-c4", "-d1s", server.url }
        local ours = load.run { "-d", "1s", "-c", 4, "-k", server.url }
        ratios[round] = ours.ok_per_s / tonumber(theirs.out:match("Requests/sec:%s+([%d.]+)"))
    end
    table.sort(ratios)
    t.ok(math.abs(ratios[3] - 1) < 0.1, "the rate is wrk's, where the server sets it", table.concat(ratios, " "))
    server:stop()
end)

t.done()
