#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Reloads one after another while requests go on in children of each configuration:
-- there is always a child that serves, and the time that the old ones got to end is
-- not given to them anew.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local function count(server, pattern)
    return select(2, server:log_text():gsub(pattern, ""))
end

local function begin(server, path)
    local c = t.fcgi.connect(server.address)
    c:send(t.fcgi.request { path = path })
    return c
end

t.case("forty", function()
    local server = t.server.start { engine = "event", children = 1, arguments = { "--stop-timeout", "60s" } }
    local waiting, bad, waits = {}, 0, 0
    for index = 1, 40 do
        waiting[index] = begin(server, "/lua/sleep?ms=60000")
        local ready = count(server, "ready: ")
        server:signal("HUP")
        process.poll(10, function()
            waits = count(server, "the reload waits")
            return count(server, "ready: ") > ready or waits > 0
        end)
        bad = bad + (server:get("/ping", { timeout = 5 }).body == "pong" and 0 or 1)
    end
    t.is(bad, 0, "each time there is a child that serves")
    t.is(count(server, "cannot start a child"), 0, "no child finds no place")
    t.is(waits, 1, "further reloads wait for the old ones to end", server:log_text())
    local ready = count(server, "ready: ")
    for _, c in ipairs(waiting) do
        c:close()
    end
    t.ok(process.poll(10, function()
        return count(server, "ready: ") > ready
    end), "and begin when they have")
    t.ok(process.poll(10, function()
        return #server:workers() == 1
    end), "nothing else stays")
    server:stop("TERM", 5)
end)

t.case("time", function()
    local server = t.server.start { engine = "event", children = 1, arguments = { "--stop-timeout", "2s" } }
    local c = begin(server, "/lua/sleep?ms=30000")
    process.pause(0.1)
    local start, old = process.now(), server:workers()[1]
    local last = start
    server:signal("HUP")
    local ended = process.poll(15, function()
        if process.now() - last > 0.8 then
            last = process.now()
            server:signal("HUP")
        end
        return not process.alive(old)
    end)
    t.ok(ended, "a child that got two seconds ends though reloads go on", server:log_text())
    t.note(("it ended after %.1f s"):format(process.now() - start))
    c:close()
    server:stop("TERM", 5)
end)
t.done()
