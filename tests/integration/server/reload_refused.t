#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- What a start or a reload must not be ended by: logs that cannot be opened, a binary
-- that is none of ours, odd names, handlers that hang or leave while they are loaded,
-- a configuration without end. The old configuration goes on, TERM works at any time,
-- and nothing is left behind.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local program = t.dir .. "/program"
local conf = t.dir .. "/conf.lua"
local fixture = t.fixture("starts_badly.so")
local first = 'ping_path = "/ping"\nroute("/hello", "' .. t.build .. '/handlers/hello.so")\n'

local function count(server, pattern)
    return select(2, server:log_text():gsub(pattern, ""))
end

local function refused(server, name)
    local before = count(server, "reload refused")
    server:signal(name)
    return process.poll(10, function()
        return count(server, "reload refused") > before or not process.alive(server.pid)
    end) and process.alive(server.pid)
end

local function greets(server)
    return server:get("/hello?name=x", { timeout = 5 }).body == "<h1>Hello x</h1>"
end

local function nothing_left(pattern)
    local left
    local none = process.poll(3, function()
        left = {}
        for _, pid in ipairs(process.descendants(require("posix.unistd").getpid())) do
            local command = process.state(pid) ~= "Z" and process.command(pid) or ""
            left[#left + 1] = command:find(pattern, 1, true) and command or nil
        end
        return #left == 0
    end)
    t.ok(none, "nothing is left behind", table.concat(left, "\n"))
end

t.case("reload", function()
    process.run { "cp", t.server.program, program }
    local original = t.server.program
    t.server.program = program
    process.write_file(conf, first)
    local server = t.server.start { config = conf, children = 2 }
    t.server.program = original
    for _, line in ipairs { 'log = "/nowhere/log"', 'access_log = "/nowhere/log"', 'slow_log = "/nowhere/log"',
        'access_log = "/dev/null" access_format = "%Z"', ('route("/x", "%s", "exit")'):format(fixture) } do
        process.write_file(conf, first .. line .. "\n")
        t.ok(refused(server, "HUP") and greets(server), "refused: " .. line:gsub(t.dir, ""), server:log_text())
    end
    process.write_file(conf, first)

    for _, other in ipairs { "/bin/true", "/bin/false", "/etc/passwd" } do
        process.run { "cp", other, program .. ".new" }
        os.rename(program .. ".new", program)
        t.ok(refused(server, "USR2") and greets(server), "refused as the new binary: " .. other, server:log_text())
    end
    os.remove(program)
    t.ok(refused(server, "USR2") and greets(server), "refused: no binary at all", server:log_text())
    process.run { "cp", original, program }
    local ready = count(server, "ready: ")
    server:signal("USR2")
    t.ok(process.poll(10, function()
        return count(server, "ready: ") > ready
    end) and greets(server), "a good one is taken", server:log_text())

    process.write_file(conf, first .. ('route("/x", "%s", "hang")\n'):format(fixture))
    server:signal("HUP")
    t.ok(process.poll(5, function()
        return #process.descendants(server.pid) == 4
    end), "a handler hangs while it is checked")
    t.ok(greets(server), "the old configuration goes on")
    local how, code = server:stop("TERM", 5)
    t.ok(how == "exited" and code == 0, "TERM ends the server", tostring(how))
    nothing_left(server.address)
end)

t.case("odd names", function()
    local folder = t.dir .. "/" .. ("long"):rep(40)
    process.run { "mkdir", folder }
    local pid_file = folder .. "/" .. ("name"):rep(40) .. " with\na line feed and \xc3\xa4"
    process.write_file(conf, first)
    local server = t.server.start { config = conf, children = 1, address = "unix:" .. t.dir .. "/a\nb c\xc3\xa9",
        arguments = { "--pid-file", pid_file } }
    local ready = count(server, "ready: ")
    server:signal("HUP")
    t.ok(process.poll(10, function()
        return count(server, "ready: ") > ready
    end) and greets(server), "a reload with a long pid file and line feeds in names", server:log_text())
    t.is(process.read_file(pid_file), server.pid .. "\n", "the pid file is there")
    server:stop()
    t.is(process.read_file(pid_file), nil, "and goes at the end")
end)

t.case("variables of a reload that no reload has set", function()
    if t.missing("spawn-fcgi") then
        return t.skip("variables set by hand", t.missing("spawn-fcgi"))
    end
    process.write_file(conf, first)
    for _, value in ipairs { "/etc/passwd", "0", "", "3x", "99999999999999999999", "1000" } do
        local server = t.server.start { config = conf, launch = "spawn-fcgi", children = 1,
            env = { FCGI_SERVER_CONFIG = value, FCGI_SERVER_STATE = value } }
        t.ok(greets(server), "file read, descriptor 0 kept: '" .. value .. "'", server:log_text())
        server:stop()
    end
end)

t.case("start", function()
    local log = t.dir .. "/start.log"
    local address = "unix:" .. t.dir .. "/start"
    for _, name in ipairs { "TERM", "INT" } do
        local pid = process.spawn { t.server.program, "-n", "2", "-l", address, "-r", "/x=" .. fixture .. ",hang",
            stdout = log, stderr = log }
        t.ok(process.poll(5, function()
            return #process.children(pid) == 1
        end), "a handler hangs while it is loaded")
        t.ok(process.finish(pid, name, 3), name .. " ends the start")
        nothing_left(address)
    end
    local result = process.run { t.server.program, "-n", "2", "-l", address, "-r", "/x=" .. fixture .. ",exit",
        timeout = 10 }
    t.is(result.status, 100, "a handler that leaves with status 0 is refused", result.err)
    t.like(result.err, "starts_badly%.so", "and named")

    process.write_file(conf, 'local s = ("a"):rep(30) s:find(("a?"):rep(30) .. s)')
    local pid = process.spawn { t.server.program, "-n", "2", "-l", address, "-c", conf, stdout = log, stderr = log }
    process.poll(5, function()
        return process.cpu_ms(pid) > 50
    end)
    t.ok(process.finish(pid, "TERM", 3), "TERM ends a configuration without end")
    for _, bomb in ipairs { 'local s = "x" while true do s = s .. s end',
        'local list = {} while true do list[#list + 1] = ("x"):rep(1e6 + #list) end' } do
        process.write_file(conf, bomb)
        result = process.run { t.server.program, "-n", "2", "-l", address, "-c", conf, timeout = 20 }
        t.ok(result.status == 100 and result.err:find("not enough memory"),
            "a configuration that fills the memory is refused", result.err)
    end
end)

t.case("children that leave with status 0", function()
    local file = t.dir .. "/leave"
    local server = t.server.start { config = false, children = 2,
        routes = { "/x=" .. fixture .. ",exit-if " .. file } }
    process.write_file(file, "")
    for _, pid in ipairs(server:workers()) do
        process.kill(pid, "KILL")
    end
    t.ok(process.poll(5, function()
        return count(server, "exited with status 0") >= 2
    end), "they end before they serve", server:log_text())
    process.pause(1)
    t.ok(count(server, "exited with status 0") < 20, "and are not started without pause",
        count(server, "exited with status 0"))
    os.remove(file)
    t.ok(process.poll(8, function()
        return server:get("/x", { timeout = 1 }).body == "well\n"
    end), "until they stay", server:log_text())
    server:stop()
end)
t.done()
