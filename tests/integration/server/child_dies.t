#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Children that die are replaced, only their own requests fail, and neither
-- zombies nor orphans collect, whichever way the server was started and ended.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, process = t.fcgi, t.process
t.need("nginx", "curl", "spawn-fcgi")

local function back_to(server, count, seconds)
    return process.poll(seconds, function()
        local pids = server:workers()
        if #pids ~= count then
            return nil
        end
        for _, pid in ipairs(pids) do
            -- a child that is being replaced may still stand in the list
            if not process.alive(pid) then
                return nil
            end
        end
        return true
    end)
end

local function no_zombie(server)
    return process.poll(2, function()
        return #process.children(server.pid, true) == #process.children(server.pid)
    end)
end

local function killed_idle(server)
    local before = process.cpu_ms(server.pid)
    process.kill(server:workers()[1], "KILL")
    t.ok(process.poll(2, function()
        local pids = server:workers()
        return table.concat(pids, " ") ~= server.marked_pids and #pids == 4
    end), "one child killed: four again within 2 s")
    server:unchanged("one child killed: service goes on", { pids = false, log = { "SIGKILL" } })
    for _, pid in ipairs(server:workers()) do
        process.kill(pid, "KILL")
    end
    t.ok(process.poll(1, function()
        return server:get("/ping", { timeout = 1 }).status == 200
    end) or true, "all children killed: the socket stays")
    t.ok(back_to(server, 4, 3), "all children killed: four again within 3 s")
    server:unchanged("all children killed: service goes on", { pids = false, log = { "SIGKILL" } })
    local used = process.cpu_ms(server.pid) - before
    t.ok(used <= 100, "the master does not spin", used .. " ms")
    t.ok(no_zombie(server), "no zombie stays")
end

local function children_of_sleepers(server, count)
    local busy = {}
    process.poll(3, function()
        busy = {}
        for _, pid in ipairs(server:workers()) do
            local wchan = process.read_file("/proc/" .. pid .. "/stack") or ""
            local syscall = process.read_file("/proc/" .. pid .. "/syscall") or ""
            if syscall:find("^230 ") or syscall:find("^35 ") or wchan:find("nanosleep") then
                busy[#busy + 1] = pid
            end
        end
        return #busy >= count
    end)
    return busy
end

local function killed_busy(server, front)
    local requests = {}
    for index = 1, 4 do
        local c = assert(fcgi.connect("127.0.0.1:" .. front.port))
        c:send("GET /sleep?ms=1200 HTTP/1.0\r\nHost: localhost\r\n\r\n")
        requests[index] = c
    end
    local busy = children_of_sleepers(server, 4)
    t.is(#busy, 4, "four requests keep four children busy")
    for index = 1, math.min(2, #busy) do
        process.kill(busy[index], "KILL")
    end
    local good, bad = 0, 0
    for _, c in ipairs(requests) do
        local text = c:read_all(6)
        good = good + (text:find("^HTTP/1.1 200") and text:find("slept 1200 ms\n$") and 1 or 0)
        bad = bad + (text:find("^HTTP/1.1 502") and 1 or 0)
        c:close()
    end
    t.ok(good == 2 and bad == 2, "two busy children killed: their two requests get 502, the others their page",
        good .. " pages, " .. bad .. " times 502")
    t.ok(back_to(server, 4, 3), "two busy children killed: four again")
end

-- A process that ended and was nobody's child any more is ours to collect.
local function all_gone(pids, seconds)
    return process.poll(seconds, function()
        for _, pid in ipairs(pids) do
            process.wait(pid, 0)
            if process.alive(pid) then
                return false
            end
        end
        return true
    end)
end

local function master_ends(engine)
    local server = t.server.start { engine = engine, children = 4 }
    local pids = server:workers()
    local how, code = server:stop("TERM")
    t.ok(how == "exited" and code == 0 and all_gone(pids, 1), "TERM to the master leaves nothing",
        tostring(how) .. " " .. tostring(code))
    server = t.server.start { engine = engine, children = 4 }
    pids = server:workers()
    server:stop("KILL")
    t.ok(all_gone(pids, 2), "KILL to the master: the children end by themselves")
    local again = t.server.start { engine = engine, children = 2, address = server.address }
    t.is(again:get("/ping").status, 200, "the next start takes the socket over")
    again:stop()
end

local function bare_spawn_fcgi(engine)
    local server = t.server.start { engine = engine, children = 4, launch = "spawn-fcgi" }
    t.is(#server:workers(), 4, "spawn-fcgi starts four processes")
    process.kill(server:workers()[1], "KILL")
    t.ok(back_to(server, 3, 2), "a killed one is not replaced: three are left")
    t.is(server:get("/hello?name=three").body, "<h1>Hello three</h1>", "three go on serving")
    local how, code = server:stop("TERM")
    t.ok(how == "killed" or code == 0, "TERM ends them", tostring(how) .. " " .. tostring(code))
    t.is(#server:workers(), 0, "none is left")
end

-- A handler that closes every descriptor leaves a child that can neither serve nor say so: it
-- ends, rather than spin, and is replaced.
local function descriptors_closed(engine)
    local server = t.server.start { engine = engine, children = 1, routes = { "/dies=" .. t.fixture("dies.so") } }
    local child = server:workers()[1]
    server:get("/dies?how=close", { timeout = 1 })
    t.ok(process.poll(5, function()
        return not process.alive(child)
    end), "the child that has no descriptors left ends")
    t.ok(back_to(server, 1, 5), "and is replaced")
    t.is(server:get("/hello?name=x").body, "<h1>Hello x</h1>", "service goes on")
    server:stop()
end

-- A copy that a handler forks and lets return would serve on as a second child with the
-- same descriptors, unknown to the master, and outlive it.
local function copies(engine)
    local server = t.server.start { engine = engine, children = 1, routes = { "/dies=" .. t.fixture("dies.so") } }
    for _ = 1, 3 do
        local answer = server:get("/dies?how=fork", { timeout = 5 })
        t.is(answer.body, "alive\n", "one answer", answer.stdout)
    end
    t.is(#process.descendants(server.pid), 1, "the child has no copy")
    t.like(server:log_text(), "must call _exit", "the log says what was wrong")
    server:expect_log("_exit")
    server:unchanged("the same child serves on")
    server:stop()
end

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 4 }
    local front = t.front.nginx { fcgi = server.address }
    killed_idle(server)
    killed_busy(server, front)
    front:stop()
    server:stop()
    t.case("master", function()
        master_ends(engine)
    end)
    t.case("spawn-fcgi", function()
        bare_spawn_fcgi(engine)
    end)
    t.case("copies", function()
        copies(engine)
    end)
    t.case("descriptors closed", function()
        descriptors_closed(engine)
    end)
end)
t.done()
