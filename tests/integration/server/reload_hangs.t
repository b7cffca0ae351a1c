#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Time limits of a reload: a check that hangs is killed, a new program that passes the
-- check and then hangs or ends is replaced by the one before it; nobody notices, and
-- a stop that was meant for it is obeyed.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local program = t.dir .. "/program"
local original = t.server.program
local fixture = t.fixture("starts_badly.so")
local conf = t.dir .. "/conf.lua"
local first = 'ping_path = "/ping"\nroute("/hello", "' .. t.build .. '/handlers/hello.so")\n'

local function logged(server, text, seconds)
    return process.poll(seconds or 10, function()
        return server:log_text():find(text, 1, true)
    end)
end

local function greets(server)
    return server:get("/hello?name=x", { timeout = 5 }).body == "<h1>Hello x</h1>"
end

-- A server whose file becomes a script that does what <words> say in the master's place.
local function start(words, limit)
    os.remove(program)
    process.run { "cp", original, program }
    t.server.program = program
    process.write_file(conf, first)
    local server = t.server.start { config = conf, children = 2,
        arguments = { "--check-timeout", limit, "--pid-file", t.dir .. "/pid", "--control", t.dir .. "/control" } }
    t.server.program = original
    if words then
        process.write_file(program .. ".new",
            ('#!/bin/sh\nif [ -n "$FCGI_SERVER_STATE" ]; then %s; fi\nexec "%s" "$@"\n'):format(words, original))
        process.run { "chmod", "755", program .. ".new" }
        os.rename(program .. ".new", program)
    end
    return server
end

local function heir(server)
    local pid = tonumber(process.read_file(t.dir .. "/pid"))
    process.spawned[pid] = pid ~= server.pid and "fcgi-server" or process.spawned[pid]
    return pid
end

local function ready(server, times)
    return process.poll(15, function()
        return select(2, server:log_text():gsub("ready: ", "")) >= times
    end)
end

local function ends(pid)
    process.kill(pid, "TERM")
    return process.poll(5, function()
        return not process.alive(pid)
    end)
end

t.case("a check that hangs", function()
    local server = start(nil, "300ms")
    process.write_file(conf, first .. ('route("/x", "%s", "hang")\n'):format(fixture))
    server:signal("HUP")
    t.ok(logged(server, "within check_timeout: killed") and logged(server, "reload refused"), "it is killed", server:log_text())
    t.ok(greets(server), "the old configuration goes on")
    process.write_file(conf, first)
    server:signal("HUP")
    t.ok(ready(server, 2) and greets(server), "the next reload works", server:log_text())
    t.ok(server:stop("TERM") == "exited", "and a stop")
end)

for words, reason in pairs { ["exec sleep 100"] = "did not start within check_timeout", ["exit 0"] = "ended before it could serve" } do
    t.case("a program that does: " .. words, function()
        local server = start(words, "2s")
        server:signal("USR2")
        local greeted = true
        t.ok(process.poll(10, function()
            greeted = greeted and greets(server)
            return server:log_text():find(reason, 1, true)
        end), "the log says so", server:log_text())
        t.ok(ready(server, 2), "the former one serves", server:log_text())
        t.ok(greeted and greets(server), "and all the time there were answers")
        local pid = heir(server)
        t.ok(pid ~= server.pid, "under the process id in the pid file")
        t.ok(process.poll(5, function()
            return not process.alive(server.pid) or process.state(server.pid) == "Z"
        end), "the other program has ended")
        t.is(process.run { original, "--status=" .. t.dir .. "/control", timeout = 5 }.status, 0, "the control socket answers")
        os.remove(program)
        process.run { "cp", original, program }
        process.kill(pid, "USR2")
        t.ok(ready(server, 3) and greets(server), "a good program is taken", server:log_text())
        t.ok(ends(pid), "TERM ends it")
        t.is(process.read_file(t.dir .. "/pid"), nil, "the pid file is gone")
        t.ok(not require("posix.sys.stat").stat(server.socket), "the socket file, too")
        process.wait(server.pid, 1)
    end)
end

t.case("a stop while it hangs", function()
    local server = start("exec sleep 100", "2s")
    server:signal("USR2")
    t.ok(process.poll(10, function()
        return process.command(server.pid):find("sleep", 1, true)
    end), "it hangs")
    server:signal("TERM")
    t.ok(logged(server, "stopped"), "it is obeyed after the limit", server:log_text())
    t.is(process.read_file(t.dir .. "/pid"), nil, "nothing is left")
    process.wait(server.pid, 1)
end)
t.done()
