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
    local p999 = tonumber(tostring(report.response_us.p999)) or report.response_us.max
    t.ok(p999 < 1e6, name .. ": none took 1 s", p999 .. " us, at most " .. report.response_us.max)
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
    t.ok(report.response_us.p999 < 150e3, "and 999 of 1,000 in under half a sleep",
        ("p999 %s, max %s us"):format(tostring(report.response_us.p999), tostring(report.response_us.max)))
    process.wait(sleepers, SECONDS + 10)
    front:stop()
    server:stop()
end

for _, children in ipairs { 1, 2, 4 } do
    for _, keepalive in ipairs { 1, 8, 64 } do
        starvation(children, keepalive)
    end
end
work_conserved()
t.done()
