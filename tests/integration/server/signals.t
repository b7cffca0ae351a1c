#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Signals that were inherited blocked or ignored make no difference; a killed master
-- leaves no orphans; a second INT ends at once; STOP and CONT are survived.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local function in_order(server, name)
    local how, code, seconds = server:stop(name, 5)
    local order = server:stop_order(name, 2)
    return how == "exited" and code == 0 and not order,
        ("%s %s in %.2f s, %s"):format(tostring(how), tostring(code), seconds, order or "in order")
end

t.each_engine(function(engine)
    for _, option in ipairs { "--block-signal", "--ignore-signal" } do
        local program = t.server.program
        local wrapper = t.dir .. "/wrapper" .. option
        process.write_file(wrapper, "#!/bin/sh\nexec env " .. option .. "=TERM,INT,QUIT,HUP,USR1,USR2,CHLD,PIPE,ALRM '"
            .. program .. "' \"$@\"\n")
        process.run { "chmod", "+x", wrapper }
        t.server.program = wrapper
        local server = t.server.start { engine = engine, children = 2, arguments = { "--log-level", "info" } }
        t.server.program = program
        process.kill(server:workers()[1], "KILL")
        t.ok(process.poll(5, function()
            local pids = server:workers()
            return #pids == 2 and table.concat(pids, " ") ~= server.marked_pids
        end), option .. ": a child is replaced")
        local fine, seen = in_order(server, "TERM")
        t.ok(fine, option .. ": TERM ends the children, then the master (stop.t has how quickly)", seen)
    end

    local server = t.server.start { engine = engine, children = 3 }
    local workers = server:workers()
    local c = t.fcgi.connect(server.address)
    c:send(t.fcgi.request { path = "/sleep?ms=600" })
    process.pause(0.15)
    process.finish(server.pid, "KILL", 3)
    t.is(c:answer(1, 3).body, "slept 600 ms\n", "master killed: a request in flight is answered")
    t.ok(process.poll(3, function()
        for _, pid in ipairs(workers) do
            if process.alive(pid) then
                return false
            end
        end
        return true
    end), "master killed: no orphan is left")
    c:close()

    server = t.server.start { engine = engine, children = 2, address = server.address }
    t.is(server:get("/echo").status, 200, "the next start takes the stale socket")
    c = t.fcgi.connect(server.address)
    c:send(t.fcgi.request { path = "/sleep?ms=20000" })
    process.pause(0.1)
    server:signal("INT")
    process.pause(0.1)
    t.ok(process.alive(server.pid), "INT waits for the request")
    server:signal("INT")
    local how, code = process.wait(server.pid, 5)
    t.ok(how == "exited" and code == 0, "a second INT ends at once", tostring(how))
    c:close()

    server = t.server.start { engine = engine, children = 1, arguments = { "--stop-timeout", "300ms" } }
    c = t.fcgi.connect(server.address)
    c:send(t.fcgi.request { path = "/sleep?ms=20000" })
    process.pause(0.1)
    server:signal("TERM")
    how, code = process.wait(server.pid, 10)
    t.ok(how == "exited" and code == 0, "TERM: a request that takes too long is cut off", tostring(how))
    c:close()

    server = t.server.start { engine = engine, children = 2 }
    for _ = 1, 3 do
        for _, pid in ipairs { server.pid, unpack(server:workers()) } do
            process.kill(pid, "STOP")
        end
        process.pause(0.05)
        for _, pid in ipairs { server.pid, unpack(server:workers()) } do
            process.kill(pid, "CONT")
        end
    end
    server:unchanged("STOP and CONT")
    process.kill(server:workers()[1], "STOP")
    t.ok(process.poll(5, function()
        return server:get("/echo", { timeout = 1 }).status == 200
    end), "a stopped child does not stop the service")
    process.kill(server:workers()[1], "STOP")
    server:signal("QUIT")
    process.pause(0.1)
    server:signal("TERM")
    process.pause(0.05)
    server:signal("TERM")
    how = process.wait(server.pid, 10)
    t.is(how, "exited", "and does not stop the end")
end)
t.done()
