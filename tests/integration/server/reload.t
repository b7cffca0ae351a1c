#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- HUP and USR2: the new configuration and the new binary, checked first; the same
-- socket, the same pid; a broken one changes nothing.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
local stat = require("posix.sys.stat")

local program = t.dir .. "/program"
local conf = t.dir .. "/conf.lua"

local function write_conf(text)
    process.write_file(conf, 'ping_path = "/ping"\nstatus_path = "/status"\nroute("/hello", "hello.so")\n'
        .. 'handlers_dir = "' .. t.build .. '/handlers"\n' .. text)
end

local function says(server, path, text, seconds)
    return process.poll(seconds or 8, function()
        return server:get(path, { timeout = 5 }).body == text
    end)
end

local function logged(server, pattern)
    return process.poll(8, function()
        return server:log_text():find(pattern)
    end)
end

process.run { "cp", t.server.program, program }
t.server.program = program

t.each_engine(function(engine)
    write_conf('route("/x", "echo.so", "one")\n')
    local server = t.server.start { engine = engine, config = conf, children = 2,
        arguments = { "--pid-file", t.dir .. "/pid" } }
    local inode, first = stat.stat(server.socket).st_ino, table.concat(server:workers(), " ")
    t.ok(says(server, "/x", "one"), "the first configuration")

    local slow = t.fcgi.connect(server.address)
    local kept = t.fcgi.connect(server.address)
    kept:send(t.fcgi.request { path = "/x", keep = true })
    kept:answer(1, 5)
    write_conf('route("/x", "echo.so", "two")\nroute("/sleep", "sleep.so")\n')
    server:signal("HUP")
    t.ok(says(server, "/x", "two"), "HUP: the new configuration")
    t.is(stat.stat(server.socket).st_ino, inode, "the same socket")
    t.is(process.read_file(t.dir .. "/pid"), server.pid .. "\n", "the same master")
    t.ok(process.poll(5, function()
        local now = server:workers()
        return #now == 2 and table.concat(now, " ") ~= first
    end), "other children")
    kept:close()
    slow:close()

    local running = t.fcgi.connect(server.address)
    running:send(t.fcgi.request { path = "/sleep?ms=700" })
    process.pause(0.1)
    server:mark()
    for _, broken in ipairs { "children = {}", 'route("/y", "absent.so")', "this is no Lua",
        'route("/y", "' .. t.fixture("bad_constructor.so") .. '")' } do
        local lines = select(2, server:log_text():gsub("reload refused", ""))
        write_conf(broken .. "\n")
        server:signal("HUP")
        t.ok(process.poll(8, function()
            return select(2, server:log_text():gsub("reload refused", "")) > lines
        end), "refused: " .. broken:sub(1, 30))
    end
    t.ok(logged(server, "absent%.so"), "the log says why")
    t.ok(says(server, "/x", "two"), "the old configuration still answers")
    t.is(running:answer(1, 5).body, "slept 700 ms\n", "a request in flight is not disturbed")
    running:close()

    running = t.fcgi.connect(server.address)
    running:send(t.fcgi.request { path = "/sleep?ms=900" })
    process.pause(0.1)
    write_conf('route("/x", "echo.so", "three")\n')
    process.run { "cp", program, program .. ".new" }
    os.rename(program .. ".new", program)
    server:signal("USR2")
    t.ok(says(server, "/x", "three"), "USR2: the new binary")
    t.is(stat.stat("/proc/" .. server.pid .. "/exe").st_ino, stat.stat(program).st_ino, "is the one on the disk")
    t.is(stat.stat(server.socket).st_ino, inode, "on the same socket")
    t.is(running:answer(1, 5).body, "slept 900 ms\n", "an old request ends in the old child")
    running:close()

    process.write_file(program .. ".bad", "#!/bin/sh\necho 'no good' >&2\nexit 3\n")
    process.run { "chmod", "+x", program .. ".bad" }
    process.run { "cp", program, program .. ".good" }
    os.rename(program .. ".bad", program)
    server:signal("USR2")
    t.ok(logged(server, "no good"), "USR2: a binary that fails its check is refused")
    t.ok(says(server, "/x", "three"), "the old one still answers")
    os.rename(program .. ".good", program)

    for _ = 1, 50 do
        server:signal("HUP")
        process.pause(0.005)
    end
    t.ok(says(server, "/x", "three"), "50 rapid HUPs")
    t.ok(process.poll(15, function()
        return #server:workers() == 2
    end), "end with two children", #server:workers())
    server:signal("HUP")
    server:signal("TERM")
    local how, code = process.wait(server.pid, 5)
    t.ok(how == "exited" and code == 0, "TERM during a reload stops", tostring(how) .. " " .. tostring(code))
    t.ok(not stat.stat(server.socket) and not stat.stat(t.dir .. "/pid"), "no socket and no pid file are left")
end)
t.done()
