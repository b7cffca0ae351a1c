#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A handler that dies 200 ms after the start is restarted ever more slowly, fills no
-- log, and can be stopped; a crashing request costs its own answer only.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

t.each_engine(function(engine)
    local server = t.server.start {
        engine = engine, config = false, children = 1, routes = { "/x=" .. t.fixture("dies.so") .. ",200" },
    }
    local seen, count = {}, 0
    local cpu = process.cpu_ms(server.pid)
    local limit = t.now() + 10
    while t.now() < limit do
        for _, pid in ipairs(server:workers()) do
            if not seen[pid] then
                seen[pid], count = true, count + 1
            end
        end
        process.pause(0.01)
    end
    t.ok(count >= 2 and count <= 14, "restarts are slowed down: at most about 10 in 10 s", count .. " starts")
    t.ok(#server:log_text() < 100000, "the log stays small", #server:log_text() .. " bytes")
    t.ok(process.cpu_ms(server.pid) - cpu < 500, "the master does not spin", process.cpu_ms(server.pid) - cpu .. " ms")
    local how, code, seconds = server:stop("INT")
    t.ok(how == "exited" and code == 0 and seconds < 2, "Ctrl-C works", tostring(how) .. " " .. tostring(code))

    server = t.server.start { engine = engine, children = 2, routes = { "/dies=" .. t.fixture("dies.so") } }
    for _, kind in ipairs { "segv", "abort", "exit", "kill" } do
        local answer = server:get("/dies?how=" .. kind, { timeout = 5 })
        t.ok(not answer.complete, kind .. ": the request has no answer", answer.stdout)
        t.ok(process.poll(5, function()
            return server:get("/dies", { timeout = 1 }).body == "alive\n" and #server:workers() == 2
        end), kind .. ": two children again, and service")
    end
    t.like(server:log_text(), "SIGSEGV", "the log tells how each ended")
    t.ok(#server:log_text() < 20000, "in few lines", #server:log_text() .. " bytes")
    server:stop()
end)
t.done()
