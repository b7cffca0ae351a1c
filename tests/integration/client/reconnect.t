#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A server that ends kept connections, with and without saying so: requests are
-- redone where that is safe, nothing is lost silently, nothing spins.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local load = t.load

local N = 300

local function page(version, header)
    return "HTTP/" .. version .. " 200 OK\r\nContent-Length: 2\r\n" .. header .. "\r\nok"
end

local function run(answer)
    local server = t.scripted.start { answer = answer }
    local report, result = load.run { "-n", N, "-c", 10, "-k", server.url }
    local counts = server:counts()
    server:stop()
    return report, result, counts
end

local function all_ok(name, answer)
    local report, result, counts = run(answer)
    t.ok(report.requests.ok == N and report.requests.failed == 0 and load.closes(report), name .. ": all ok",
        load.summary(report, result))
    t.is(report.connections_opened, counts.connections, name .. ": connections are counted")
end

for _, every in ipairs { 1, 3, 100 } do
    for header, spelled in pairs { ["Connection: close"] = "close", ["Connection: Close, x"] = "Close, x" } do
        all_ok("closed after " .. every .. " with " .. spelled, function(_, _, place)
            local last = place.index % every == 0
            return page("1.1", last and header .. "\r\n" or ""), { close = last }
        end)
    end
    all_ok("closed after " .. every .. " without notice", function(_, _, place)
        return page("1.1", ""), { close = place.index % every == 0 }
    end)
end
all_ok("HTTP/1.0 without keep-alive", function()
    return page("1.0", ""), { close = true }
end)
all_ok("HTTP/1.0 with keep-alive", function()
    return page("1.0", "Connection: keep-alive\r\n")
end)

local report, result = run(function(n)
    return page("1.1", ""), { close_first = n % 4 == 0 }
end)
t.ok(report.requests.ok + report.requests.failed == N and load.closes(report),
    "closed before some answers: every request has an outcome", load.summary(report, result))
report, result = run(function()
    return "", { close_first = true }
end)
t.ok(report.requests.ok == 0 and report.requests.failed == N, "closed before every answer: all failed",
    load.summary(report, result))
t.is(result.status, 2, "then nothing succeeded: status 2")

-- CPU while waiting: 1 s of silence.
local server = t.scripted.start {
    answer = function()
        return page("1.1", ""), { delay = 0.3 }
    end,
}
report, result = load.run { "-n", 3, "-c", 1, "-k", server.url }
t.ok(report.client_cpu_s < 0.2, "waiting costs no CPU", load.summary(report, result))
server:stop()
t.done()
