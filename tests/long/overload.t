#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Ten times the capacity: beyond the queueing deadline the server answers a quick 503
-- with Retry-After; it goes on doing all the work it can, and recovers within 1 s.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process
t.need("nginx", "curl")

local SECONDS = tonumber(os.getenv("OVERLOAD_S") or (os.getenv("SHORT") and 8 or 30))
local CHILDREN, SLEEP_MS, DEADLINE_MS = 4, 50, 500
local CAPACITY = CHILDREN * 1000 / SLEEP_MS

t.each_engine(function(engine)
    local server = t.server.start {
        engine = engine, children = CHILDREN,
        arguments = { "--queue-deadline", DEADLINE_MS .. "ms", "--backlog", "4096" },
    }
    local front = t.front.nginx { fcgi = server.address, connections = 8192, nofile = 20000 }
    -- What this machine gets out of the children now: the arithmetic's figure less what it loses on the way.
    local alone = load.run { "-k", "-c", CHILDREN * 2, "-d", "2s", front.url .. "/sleep?ms=" .. SLEEP_MS }
    local capacity = math.min(CAPACITY, alone.ok_per_s)
    local out = t.dir .. "/" .. engine .. ".json"
    local client = process.spawn {
        load.program, "-q", "-f", "json", "-k", "-c", 1000, "-R", CAPACITY * 10, "-d", SECONDS .. "s", "-l",
        front.url .. "/sleep?ms=" .. SLEEP_MS, stdout = out, nofile = 20000,
    }
    process.pause(3)
    local refused
    process.poll(3, function()
        local answer = front:get("/sleep?ms=" .. SLEEP_MS, { timeout = 5 })
        refused = answer.status == 503 and answer
        return refused
    end)
    t.ok(refused and refused.headers["retry-after"], "a request too many gets 503 with Retry-After",
        refused and refused.head)
    process.wait(client, SECONDS + 30)
    local start = t.now()
    local recovered = process.poll(5, function()
        local answer = front:get("/hello?name=x", { timeout = 2 })
        return answer.body == "<h1>Hello x</h1>" and answer.seconds < 0.5
    end)
    local seconds = t.now() - start
    t.ok(recovered and seconds < 1, "within 1 s after the load service is normal", seconds .. " s")
    local report = require("cjson").decode(process.read_file(out))
    local served = report.requests.ok / SECONDS
    t.ok(served > capacity * 0.7, "at least 0.7 of what was served without overload is served meanwhile",
        ("%.1f per s of %.1f, on paper %d"):format(served, capacity, CAPACITY))
    t.ok((report.status["5xx"] or 0) > report.requests.ok, "the rest is shed",
        load.summary(report, { err = "" }))
    t.ok(report.failures.timeout == 0 and report.failures.protocol == 0, "nobody waits for ever",
        load.summary(report, { err = "" }))
    t.ok(tonumber(tostring(report.service_us.p95)) and report.service_us.p95 < (DEADLINE_MS + 1000) * 1000, "and nobody waits much longer than the deadline",
        "p95 " .. tostring(report.service_us.p95) .. " us")
    server:unchanged("the same children as before", { fd_s = 10 })
    front:stop()
    server:stop()
end)
t.done()
