#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The socket file: stale, occupied, too long a path, an ordinary file in its
-- place, its mode, and that it is gone after a stop.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
local stat = require("posix.sys.stat")
local bit = require("bit")

local function mode_of(path)
    local row = stat.stat(path)
    return row and bit.band(row.st_mode, 511)
end

local function failure_of(options)
    local server, failure = t.server.try(options)
    if server then
        server:stop()
        return { err = "it started" }
    end
    return failure
end

local function stale()
    local server = t.server.start { children = 2 }
    local pids = server:workers()
    server:stop("KILL")
    process.poll(3, function()
        for _, pid in ipairs(pids) do
            process.wait(pid, 0)
            if process.alive(pid) then
                return false
            end
        end
        return true
    end)
    t.ok(stat.stat(server.socket), "after KILL the file is still there")
    local again = t.server.start { children = 2, address = server.address }
    t.is(again:get("/ping").status, 200, "a stale file does not hinder the next start")
    again:stop()
end

local function occupied()
    local first = t.server.start { children = 2 }
    local failure = failure_of { children = 2, address = first.address }
    t.ok(failure.status == 111 or failure.status == 100, "a second start on the same path is refused",
        tostring(failure.status))
    t.like(failure.err, "another server answers there", "and says why")
    first:unchanged("the first one is undisturbed")
    first:stop()
    t.ok(not stat.stat(first.socket), "after a stop the file is gone")
end

local function too_long()
    local path = t.dir .. "/" .. ("p"):rep(120 - #t.dir - 1)
    local failure = failure_of { children = 1, address = "unix:" .. path }
    t.ok(failure.status == 100, "a path of 120 bytes is refused", tostring(failure.status))
    t.like(failure.err, "107", "the limit is named")
    t.ok(not stat.stat(path:sub(1, 107)) and not stat.stat(path:sub(1, 108)), "no cut path was made")
    local longest = t.dir .. "/" .. ("q"):rep(107 - #t.dir - 1)
    local server = t.server.start { children = 1, address = "unix:" .. longest }
    t.is(server:get("/ping").status, 200, "a path of 107 bytes works")
    server:stop()
end

local function ordinary_file()
    local path = process.write_file(t.dir .. "/precious", "content")
    local failure = failure_of { children = 1, address = "unix:" .. path }
    t.ok(failure.status == 111 or failure.status == 100, "an ordinary file at the path: refused",
        tostring(failure.status))
    t.like(failure.err, "precious", "it is named")
    t.is(process.read_file(path), "content", "and left alone")
    assert(stat.mkdir(t.dir .. "/folder", 448))
    failure = failure_of { children = 1, address = "unix:" .. t.dir .. "/folder" }
    t.ok(failure.status == 111 or failure.status == 100, "a folder at the path: refused", tostring(failure.status))
    failure = failure_of { children = 1, address = "unix:" .. t.dir .. "/none/sock" }
    t.ok(failure.status == 111 or failure.status == 100, "a folder that is not there: refused",
        tostring(failure.status))
    t.like(failure.err, "No such file", "and says why")
end

local function modes()
    local old = stat.umask(63) -- 077
    local server = t.server.start { children = 1 }
    t.is(mode_of(server.socket), 432, "mode 0660 whatever the umask")
    server:stop()
    server = t.server.start { children = 1, arguments = { "--socket-mode", "0606" } }
    t.is(mode_of(server.socket), 390, "mode 0606 when asked for")
    server:stop()
    stat.umask(old)
end

local function refused_addresses()
    for _, address in ipairs { "nonsense", "127.0.0.1:99999", "127.0.0.1:port", "unix:", "[::1", "fd:77" } do
        local failure = failure_of { children = 1, address = address }
        t.ok(failure.status == 100 or failure.status == 111, "address " .. address .. " is refused",
            tostring(failure.status) .. " " .. failure.err)
    end
end

local function tcp()
    local port = t.free_port()
    local server = t.server.start { children = 2, address = "127.0.0.1:" .. port }
    t.is(server:get("/hello?name=tcp").body, "<h1>Hello tcp</h1>", "TCP over IPv4")
    t.like(failure_of { children = 1, address = "127.0.0.1:" .. port }.err, "in use",
        "an occupied port is refused")
    server:unchanged("the first one is undisturbed")
    server:stop()
    if process.read_file("/proc/net/if_inet6") then
        server = t.server.start { children = 2, address = "[::1]:" .. port }
        t.is(server:get("/hello?name=v6").body, "<h1>Hello v6</h1>", "TCP over IPv6, port reused at once")
        server:stop()
    end
end

-- Whoever removes or replaces a file of a running server finds his own one again.
local function replaced()
    local unistd = require("posix.unistd")
    for _, reload in ipairs { "none", "HUP", "USR2" } do
        local control, pid_file = t.dir .. "/control-" .. reload, t.dir .. "/pid-" .. reload
        local server = t.server.start { children = 1, arguments = { "--control", control, "--pid-file", pid_file } }
        local function ready()
            return select(2, server:log_text():gsub("ready: ", ""))
        end
        for _, path in ipairs { server.socket, control, pid_file } do
            os.remove(path)
        end
        local other = t.server.start { children = 1, address = server.address }
        process.write_file(pid_file, "1\n")
        if reload ~= "none" then
            local before = ready()
            server:signal(reload)
            t.ok(process.poll(10, function()
                return ready() > before
            end), reload .. ": it reloads", server:log_text())
            process.write_file(pid_file, "1\n")
        end
        os.remove(control)
        process.write_file(control, "another's")
        server:stop()
        t.ok(unistd.access(server.socket, "f") == 0 and other:get("/ping").status == 200, reload .. ": another's socket stays")
        t.is(process.read_file(control), "another's", reload .. ": so does what is at the control socket's path")
        t.is(process.read_file(pid_file), "1\n", reload .. ": and another's pid file")
        other:stop()
    end
end

-- The address changes: the former file goes, and nobody is left waiting there.
local function moved()
    local conf = t.dir .. "/moved.lua"
    local function write(name)
        process.write_file(conf, ('listen = "unix:%s/%s" ping_path = "/ping"\n'):format(t.dir, name))
    end
    local log = t.dir .. "/moved.log"
    write("one")
    local pid = process.spawn { t.server.program, "-c", conf, "-n", "1", stdout = log, stderr = log }
    local function answers(name)
        return process.poll(10, function()
            return require("fcgi").get("unix:" .. t.dir .. "/" .. name, "/ping", { timeout = 2 }).status == 200
        end)
    end
    t.ok(answers("one"), "the first address answers")
    for _, way in ipairs { { "one", "two" }, { "two", "one" } } do
        write(way[2])
        process.kill(pid, "HUP")
        t.ok(answers(way[2]), "then the other", process.read_file(log))
        t.ok(not stat.stat(t.dir .. "/" .. way[1]), "the former file is gone")
    end
    t.ok(process.finish(pid, "TERM", 5), "it stops")
    t.ok(not stat.stat(t.dir .. "/one"), "and its file is gone")
end

stale()
replaced()
moved()
occupied()
too_long()
ordinary_file()
modes()
refused_addresses()
tcp()
t.done()
