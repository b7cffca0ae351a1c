#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The master when the system gives it nothing: no descriptors, no room for logs, a log
-- that nobody reads, a crash loop that a reload mends, a silent control client.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
local unistd = require("posix.unistd")

t.need("prlimit")

local function idle_cpu(pid, seconds)
    local before = process.cpu_ms(pid)
    process.pause(seconds)
    return process.cpu_ms(pid) - before
end

t.case("descriptors", function()
    local server = t.server.start { children = 2, arguments = { "--control", t.dir .. "/control" } }
    local used = process.fds(server.pid)
    server:stop()
    local log = t.dir .. "/few.log"
    -- Room for the start, but for no more than what two children say.
    local pid = process.spawn { "prlimit", ("--nofile=%d:%d"):format(used + 2, used + 2), t.server.program,
        "-c", t.root .. "/conf/fcgi-server.lua", "-n", "6", "-l", "unix:" .. t.dir .. "/few",
        "--control", t.dir .. "/control", stderr = log, stdout = log }
    local up = process.poll(5, function()
        return #process.children(pid) >= 2
    end)
    t.ok(up, "as many children as there are descriptors for", process.read_file(log))
    t.is(t.fcgi.get("unix:" .. t.dir .. "/few", "/hello?name=x").body, "<h1>Hello x</h1>", "they serve")
    local waiting = {}
    for index = 1, 4 do
        waiting[index] = t.fcgi.connect("unix:" .. t.dir .. "/control")
    end
    t.ok(idle_cpu(pid, 0.5) < 100, "the master does not spin")
    t.ok(#(process.read_file(log) or "") < 10000, "nor fill the log")
    t.like(process.read_file(log), "cannot start a child: Too many open files", "it says what is missing")
    for _, c in ipairs(waiting) do
        c:close()
    end
    local how, code = process.finish(pid, "TERM", 5)
    t.ok(how == "exited" and code == 0, "and stops in good order")
end)

t.case("files at their limit", function()
    local address, log = "unix:" .. t.dir .. "/small", t.dir .. "/small.log"
    local pid = process.spawn { "prlimit", "--fsize=50000:50000", t.server.program, "-n", "1", "-l", address,
        "-c", t.root .. "/conf/fcgi-server.lua", "--log", log, "--access-log", log .. ".access",
        "--log-level", "info", stderr = log .. ".err" }
    t.ok(process.poll(10, function()
        return t.fcgi.get(address, "/ping", { timeout = 1 }).body == "pong"
    end), "starts", process.read_file(log))
    local child = process.children(pid)[1]
    local answer = t.fcgi.get(address, "/echo", { method = "POST", body = ("b"):rep(200000), timeout = 5 })
    t.ok(answer.status and answer.status >= 400, "a body that is too large for the disk is refused", answer.stdout)
    local path, good = "/hello?name=" .. ("x"):rep(1000), 0
    for _ = 1, 80 do
        good = good + (t.fcgi.get(address, path, { timeout = 5 }).status == 200 and 1 or 0)
    end
    t.is(good, 80, "full logs cost no request")
    t.is(process.children(pid)[1], child, "nor a child")
    for _ = 1, 300 do
        process.kill(pid, "TTIN")
        process.kill(pid, "TTOU")
        process.kill(pid, "USR1")
    end
    local how, code = process.finish(pid, "TERM", 5)
    t.ok(how == "exited" and code == 0, "nor the master", tostring(how))
end)

t.case("a log that nobody reads", function()
    local read_end, write_end = unistd.pipe()
    local printer = process.write_file(t.dir .. "/printer.lua",
        'return function(request) for _ = 1, 200 do print(("x"):rep(1000)) end request:write("printed") end')
    local address = "unix:" .. t.dir .. "/deaf"
    local pid = process.spawn { t.server.program, "-n", "1", "-l", address, "--allow-lua-os",
        "-r", "/p=" .. printer, "--ping-path", "/ping", fds = { [2] = write_end }, stdout = "/dev/null" }
    unistd.close(write_end)
    t.ok(process.poll(5, function()
        return t.fcgi.connect(address)
    end), "starts")
    local good = 0
    for _ = 1, 10 do
        good = good + (t.fcgi.get(address, "/p", { timeout = 5 }).body == "printed" and 1 or 0)
    end
    t.is(good, 10, "requests are answered though the log is full")
    t.is(t.fcgi.get(address, "/ping").body, "pong", "and go on")
    local how, code = process.finish(pid, "TERM", 5)
    t.ok(how == "exited" and code == 0, "stops in good order", tostring(how))
    unistd.close(read_end)
end)

t.case("crash loop", function()
    local conf = t.dir .. "/conf.lua"
    local function write(text)
        process.write_file(conf, 'ping_path = "/ping"\nroute("/x", "' .. text .. '")\n')
    end
    process.run { "cp", t.build .. "/handlers/echo.so", t.dir .. "/mine.so" }
    write(t.dir .. "/mine.so")
    local server = t.server.start { children = 2, config = conf }
    -- The file goes bad while the server runs; its children cannot start any more.
    os.remove(t.dir .. "/mine.so")
    process.write_file(t.dir .. "/mine.so", ("no object\n"):rep(20))
    for _, pid in ipairs(server:workers()) do
        process.kill(pid, "KILL")
    end
    t.ok(process.poll(8, function()
        return server:log_text():find("before they answer a request")
    end), "children that cannot start are reported")
    t.ok(idle_cpu(server.pid, 0.5) < 200, "and tried slowly")
    write(t.build .. "/handlers/hello.so")
    server:signal("HUP")
    t.ok(process.poll(10, function()
        return server:get("/ping", { timeout = 1 }).body == "pong" and #server:workers() == 2
    end), "a reload mends it", server:log_text())
    local how, code = server:stop()
    t.ok(how == "exited" and code == 0, "stops in good order")
end)

t.case("killed at any moment", function()
    local bad = 0
    for round = 1, 20 do
        local address = "unix:" .. t.dir .. "/any" .. round
        local pid = process.spawn { t.server.program, "-c", t.root .. "/conf/fcgi-server.lua", "-n", "4", "-l", address,
            stderr = t.dir .. "/any.log" }
        process.pause(round * 0.004)
        local how, code = process.finish(pid, round % 2 == 0 and "TERM" or "KILL", 5)
        if round % 2 == 0 and not (how == "exited" and code == 0 or how == "killed" and code == 15) then
            bad = bad + 1
            t.note(tostring(how) .. " " .. tostring(code))
        end
    end
    t.is(bad, 0, "TERM during the start ends it")
    t.ok(process.poll(5, function()
        for _, pid in ipairs(process.descendants(unistd.getpid())) do
            if process.state(pid) ~= "Z" then
                return false
            end
        end
        return true
    end), "nothing is left behind, after KILL neither")
end)
t.done()
