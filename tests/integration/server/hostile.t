#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Peers that take and never give, and handlers that wreck their process, on both engines: service comes
-- back within the limits that fcgi-server(8) documents, memory and descriptors stay bounded, nothing spins.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, process = t.fcgi, t.process

local READ_S = 1 -- --read-timeout
local SILENT_S = 2 -- how long libfcgi waits for the first byte of a connection

local function start(engine, children, more)
    local arguments = { "--read-timeout", READ_S .. "s", "--log-level", "notice" }
    for _, word in ipairs(more or {}) do
        arguments[#arguments + 1] = word
    end
    return t.server.start { engine = engine, children = children, arguments = arguments, nofile = 20000,
        routes = { "/answer=" .. t.fixture("answer.so"), "/lua/answer=" .. t.fixture("answer.lua"),
            "/wreck=" .. t.build .. "/fixtures/wreck.so" } }
end

local function rss(server)
    local sum = 0
    for _, pid in ipairs(server:workers()) do
        sum = sum + (process.rss_kib(pid) or 0)
    end
    return sum
end

local function cpu(server)
    local sum = 0
    for _, pid in ipairs(server:workers()) do
        sum = sum + (process.cpu_ms(pid) or 0)
    end
    return sum
end

-- Seconds until a greeting is answered, asked for again and again.
local function back_after(server, limit)
    local begun = t.now()
    local good = process.poll(limit, function()
        return server:get("/hello?name=x", { timeout = limit }).body == "<h1>Hello x</h1>"
    end)
    return good and t.now() - begun or nil
end

-- Two for each child: they are dropped one after the other.
local function unread(engine, path)
    local server = start(engine, 2)
    back_after(server, 5)
    local memory, used, held = rss(server), cpu(server), {}
    for i = 1, 4 do
        held[i] = assert(fcgi.connect(server.address))
        held[i]:send(fcgi.request { path = path .. "?bytes=10000000", keep = true })
    end
    process.pause(0.3)
    local seconds = back_after(server, 30)
    -- 4 peers over 2 children, each holding its child for the time-out.
    t.ok(seconds and seconds < 2 * READ_S + 1.5, path .. ": 10 MB that nobody reads hold a child for read-timeout",
        tostring(seconds) .. " s")
    t.ok(rss(server) - memory < 4 * 1024, path .. ": and no memory", rss(server) - memory .. " KiB more")
    t.ok(cpu(server) - used < 1000, path .. ": and no processor", cpu(server) - used .. " ms")
    for _, connection in ipairs(held) do
        connection:close()
    end
    server:unchanged(path .. ": afterwards", { fd_s = 5, log = { "did not read", "read_timeout" } })
    server:stop()
end

local function kept_idle(engine)
    local COUNT = 5000
    local server = start(engine, 2)
    back_after(server, 5)
    local held, bad = {}, 0
    local request = fcgi.request { path = "/hello?name=x", keep = true }
    for i = 1, COUNT do
        held[i] = assert(fcgi.connect(server.address))
        held[i]:send(request)
        bad = bad + (held[i]:answer(1, 10).complete and 0 or 1)
    end
    t.is(bad, 0, COUNT .. " kept connections each get their answer")
    local seconds = back_after(server, 10)
    t.ok(seconds and seconds < 1, "and cost the next one no time", tostring(seconds) .. " s")
    local used = cpu(server)
    process.pause(1)
    t.ok(cpu(server) - used < 200, "idle ones cost no processor", cpu(server) - used .. " ms in a second")
    for _, connection in ipairs(held) do
        connection:close()
    end
    server:unchanged(COUNT .. " kept connections: afterwards", { fd_s = 10 })
    server:stop()
end

local function silent(engine)
    local COUNT = 4
    local server = start(engine, 2)
    back_after(server, 5)
    local held = {}
    for i = 1, COUNT do
        held[i] = assert(fcgi.connect(server.address))
    end
    local seconds = back_after(server, 30)
    local limit = engine == "event" and 0.5 or SILENT_S * COUNT / 2 + 1
    t.ok(seconds and seconds < limit, COUNT .. " connections without a byte hold 2 children for at most " .. limit .. " s",
        tostring(seconds) .. " s")
    for _, connection in ipairs(held) do
        connection:close()
    end
    server:unchanged("silent ones: afterwards", { fd_s = 5 })
    server:stop()
end

-- The child may end; the pool and its other requests go on.
local function wrecks(engine)
    local server = start(engine, 2, { "--request-timeout", "1s" })
    local ways = { "exit", "loop", "close_all", "stop_reading", "kill_group", "raise", "close_listener", "fork_return",
        "memory", "header_storm", "write_storm", "detach", "nested" }
    for _, crash in ipairs(os.getenv("SANITIZER") and {} or { "abort", "segfault", "stack" }) do
        ways[#ways + 1] = crash -- which a sanitizer would report
    end
    for _, how in ipairs(ways) do
        server:get("/wreck?how=" .. how, { timeout = 4 })
        local seconds = back_after(server, 10)
        t.ok(seconds and seconds < 5, how .. ": service goes on", tostring(seconds) .. " s")
    end
    -- Whichever of the two children is asked, each loses its listening socket.
    for _ = 1, 6 do
        server:get("/wreck?how=close_listener", { timeout = 4 })
    end
    local seconds = back_after(server, 10)
    t.ok(seconds and seconds < 5, "all of them close the listening socket: service goes on", tostring(seconds) .. " s")
    t.ok(process.poll(5, function() return #server:workers() == 2 end), "two children again")
    server.expected = { "." }
    local how, code = server:stop()
    t.ok(how == "exited" and code == 0, "and the server stops in good order", how .. " " .. tostring(code))
end

t.each_engine(function(engine)
    unread(engine, "/answer")
    unread(engine, "/lua/answer")
    kept_idle(engine)
    silent(engine)
    wrecks(engine)
end)
t.done()
