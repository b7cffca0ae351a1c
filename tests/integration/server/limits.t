#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- max_requests, memory limit, rlimits, user and group, allowed clients, output of
-- children, access log and slow log, log level, readiness for systemd.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
local unistd = require("posix.unistd")
local cjson = require("cjson")
local is_root = unistd.geteuid() == 0

local function status(server)
    return cjson.decode(server:get("/status?json").body)
end

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 2, arguments = { "--max-requests", "20" } }
    local good = 0
    for _ = 1, 150 do
        good = good + (server:get("/echo").body == "hello world\n" and 1 or 0)
    end
    t.is(good, 150, "max_requests: no request is lost")
    t.ok(process.poll(3, function()
        return #server:workers() == 2 and status(server).recycled >= 3
    end), "max_requests: children are replaced", status(server).recycled)
    t.ok(not server:log_text():find("warn"), "max_requests: nobody complains", server:log_text())
    server:stop()

    local access = t.dir .. "/access-" .. engine
    server = t.server.start { engine = engine, children = 1, arguments = { "--access-log", access,
        "--access-format", "%m %r%q %s %o %{REQUEST_METHOD}e %n %h %% %p", "--slow-ms", "50" } }
    server:get("/hello?name=%22x")
    server:get("/none")
    server:get("/sleep?ms=80")
    t.ok(process.poll(3, function()
        return select(2, (process.read_file(access) or ""):gsub("\n", "")) == 3
    end), "access log: one line for each request", process.read_file(access))
    local lines = {}
    for line in (process.read_file(access) or ""):gmatch("[^\n]+") do
        lines[#lines + 1] = line
    end
    t.like(lines[1], "^GET /hello%?name=%%22x 200 22 GET fcgi%-server /.+/hello.so %% " .. server:workers()[1] .. "$",
        "access log: the format is kept")
    t.like(lines[2], "^GET /none 404 ", "access log: a path that is not there")
    t.ok(process.poll(3, function()
        return server:log_text():find("slow: GET /sleep%S* took %d+ ms")
    end), "a slow request is logged", server:log_text())
    server:stop()

    local printer = process.write_file(t.dir .. "/printer.lua", [[
print("printed by a handler")
io.stderr:write(("x"):rep(3000), "\n")
return function(request) request:write("ok") end
]])
    server = t.server.start { engine = engine, children = 1, config = false,
        routes = { "/p=" .. printer }, arguments = { "--allow-lua-os", "--ping-path", "/ping" } }
    t.ok(process.poll(3, function()
        return server:log_text():find("%[" .. server:workers()[1] .. "%] notice: printed by a handler\n")
            and server:log_text():find("x" .. ("x"):rep(2999) .. "\n")
    end), "what a child prints is logged, whole", server:log_text():sub(1, 1000))
    server:stop()
end)

t.case("memory limit", function()
    local eater = process.write_file(t.dir .. "/eater.lua", [[
local kept = {}
return function(request)
    for index = 1, 40 do kept[#kept + 1] = ("x"):rep(1e6 + #kept) end
    request:write("eaten")
end
]])
    local server = t.server.start { children = 1, routes = { "/eat=" .. eater },
        arguments = { "--memory-limit", "20m" } }
    local first = server:workers()[1]
    t.is(server:get("/eat").body, "eaten", "a handler that keeps memory")
    t.ok(process.poll(5, function()
        local pids = server:workers()
        return #pids == 1 and pids[1] ~= first
    end), "its child is replaced", server:log_text())
    t.like(server:log_text(), "memory_limit", "and the log says why")
    t.is(server:get("/echo").status, 200, "the new one answers")
end)

t.case("limits of a child", function()
    local server = t.server.start { children = 1, arguments = { "--rlimit-files", "77", "--rlimit-core", "0" } }
    local limits = process.read_file("/proc/" .. server:workers()[1] .. "/limits")
    t.like(limits, "Max open files%s+77 ", "rlimit_files")
    t.like(limits, "Max core file size%s+0 ", "rlimit_core")
    server:stop()
    if not is_root then
        return t.skip("user and group", "needs root")
    end
    process.run { "chmod", "755", t.dir }
    server = t.server.start { children = 1, arguments = { "--user", "nobody", "--group", "daemon" } }
    local text = process.read_file("/proc/" .. server:workers()[1] .. "/status")
    t.like(text, "Uid:%s+65534%s+65534%s+65534%s+65534", "user")
    t.like(text, "Gid:%s+1%s+1%s+1%s+1", "group")
    t.is(server:get("/hello?name=x").status, 200, "and it serves")
    local child = server:workers()[1]
    process.finish(server.pid, "KILL", 2)
    t.ok(process.poll(3, function()
        return not process.alive(child)
    end), "the change of user does not make orphans")
    local root = t.dir .. "/root"
    process.run { "mkdir", "-p", root .. "/h" }
    process.run { "cp", t.build .. "/handlers/echo.so", root .. "/h" }
    server = t.server.start { children = 1, config = false, routes = { "/e=/h/echo.so,caged" },
        arguments = { "--user", "nobody", "--chroot", root } }
    t.is(server:get("/e").body, "caged", "chroot")
    t.is(unistd.readlink("/proc/" .. server:workers()[1] .. "/root"), root, "is the root of the child")
end)

t.case("refused identities", function()
    local _, failure = t.server.try { arguments = { "--user", "no-such-user" } }
    t.ok(failure and failure.status == 100 and failure.err:find("no%-such%-user"), "unknown user")
    _, failure = t.server.try { arguments = { "--group", "daemon" } }
    t.ok(failure and failure.status == 100, "group without user")
    _, failure = t.server.try { arguments = { "--user", "nobody", "--chroot", "/nonexistent" } }
    t.ok(failure and failure.status == 100, "chroot that is not there")
end)

t.case("allowed clients", function()
    local port = t.free_port()
    local server = t.server.start { children = 1, address = "127.0.0.1:" .. port,
        arguments = { "--allowed-clients", "10.0.0.0/8,127.0.0.0/8" } }
    t.is(server:get("/echo").status, 200, "a client on the list")
    server:stop()
    server = t.server.start { children = 1, address = "127.0.0.1:" .. port,
        env = { FCGI_WEB_SERVER_ADDRS = "10.1.2.3" } }
    local c = t.fcgi.connect(server.address)
    c:send(t.fcgi.request { path = "/echo" })
    t.is((c:read_all(3)), "", "a client that is not")
    c:close()
    server:stop()
    server = t.server.start { children = 1, address = "[::1]:" .. port, arguments = { "--allowed-clients", "::2" } }
    c = t.fcgi.connect(server.address)
    c:send(t.fcgi.request { path = "/echo" })
    t.is((c:read_all(3)), "", "IPv6, too")
    c:close()
end)
t.done()
