#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- More kept upstream connections than children, and every mixture of kept and
-- fresh: no request waits for a connection that merely sits idle, and none waits
-- behind a busy child while another is idle.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process
t.need("nginx", "curl")

local SECONDS = os.getenv("SHORT") and 2 or 8

local function singles(front, name)
    local slowest, bad = 0, 0
    for _ = 1, 10 do
        local answer = front:get("/hello?name=x", { timeout = 5 })
        bad = bad + (answer.body == "<h1>Hello x</h1>" and 0 or 1)
        slowest = math.max(slowest, answer.seconds or 99)
        process.pause(0.1)
    end
    t.ok(bad == 0 and slowest < 1, name .. ": ten single requests afterwards, each under 1 s",
        bad .. " failed, slowest " .. slowest .. " s")
end

local function starvation(children, keepalive)
    local server = t.server.start { children = children }
    local front = t.front.nginx { fcgi = server.address, keepalive = keepalive, workers = 2 }
    local name = children .. " children, " .. keepalive .. " kept"
    local report, result = load.run {
        "-c", 8, "-k", "-d", SECONDS .. "s", front.url .. "/hello?name=x", timeout = SECONDS + 20,
    }
    t.ok(report.requests.failed == 0 and report.requests.ok > 100, name .. ": all answered", load.summary(report, result))
    -- 999 of 1,000, since on a loaded machine a lost SYN alone costs a second.
    local tail_us = load.tail_us(report)
    t.ok(tail_us < 1e6, name .. ": none took 1 s", tail_us .. " us, at most " .. report.response_us.max)
    singles(front, name)
    front:stop()
    server:unchanged(name)
    server:stop()
end

-- Quick requests beside sleepers that leave one child idle.
local function work_conserved()
    local server = t.server.start { children = 5 }
    local front = t.front.nginx { fcgi = server.address, keepalive = 32, workers = 2 }
    local sleepers = process.spawn {
        load.program, "-q", "-c", 4, "-k", "-d", SECONDS + 2 .. "s", front.url .. "/sleep?ms=300",
        stdout = t.dir .. "/sleepers",
    }
    process.pause(1)
    local report, result = load.run {
        "-c", 8, "-k", "-d", SECONDS .. "s", front.url .. "/hello?name=x", timeout = SECONDS + 20,
    }
    t.ok(report.requests.failed == 0, "quick ones beside 4 sleepers on 5 children: all answered",
        load.summary(report, result))
    local tail_us = load.tail_us(report)
    t.ok(tail_us < 150e3, "and 999 of 1,000 in under half a sleep",
        ("%s us, at most %s of %s"):format(tail_us, report.response_us.max, report.requests.ok))
    process.wait(sleepers, SECONDS + 10)
    front:stop()
    server:stop()
end

-- More than the children can take at any time, from two queues: the kernel's and that of connections
-- that siblings give each other. Each gets its turn; none waits until the load is over.
local function in_turn(keepalive)
    local server = t.server.start { children = 32 }
    local front = t.front.nginx { fcgi = server.address, keepalive = keepalive, workers = 2 }
    for round = 1, 3 do
        local report, result = load.run { "-c", 256, "-k", "-n", 3200, front.url .. "/sleep?ms=50", timeout = 60 }
        t.ok(report.requests.ok == 3200 and report.response_us.max < report.elapsed_s * 1e6 / 3,
            ("%s kept, round %d: each of 256 clients gets its turn"):format(keepalive or "none", round),
            ("%s, slowest %.2f s of %.2f s"):format(load.summary(report, result), report.response_us.max / 1e6, report.elapsed_s))
    end
    front:stop()
    server:stop()
end

for _, children in ipairs { 1, 2, 4 } do
    for _, keepalive in ipairs { 1, 8, 64 } do
        starvation(children, keepalive)
    end
end
work_conserved()
in_turn(nil)
in_turn(4)
t.done()
