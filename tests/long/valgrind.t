#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Both programs under valgrind's memcheck: no invalid access, nothing used uninitialised. The
-- client must lose nothing either; the server's configuration lives as long as the process, the
-- values that were overridden with it. The server serves by itself (-n 0), handlers in C.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
if os.getenv("SANITIZER") then
    print("1..0 # SKIP the sanitizers look for the same")
    os.exit(0)
end
t.need("valgrind")

local function memcheck(log, leaks, ...)
    return { "valgrind", "-q", "--error-exitcode=99", "--leak-check=" .. leaks, "--errors-for-leak-kinds=definite",
        "--log-file=" .. log, ... }
end

for _, engine in ipairs { "event", "libfcgi" } do
    t.case(engine, function()
        local socket, log, client_log = t.dir .. "/" .. engine, t.dir .. "/server-" .. engine, t.dir .. "/client-" .. engine
        local command = memcheck(log, "no", t.server.program, "-n", "0", "-e", engine, "-l", "unix:" .. socket,
            "-r", "/hello=hello.so", "-r", "/table=table.so", "-r", "/sleep=sleep.so", "--status-path", "/status")
        command.stderr = t.dir .. "/stderr-" .. engine
        local server = process.spawn(command)
        t.ok(process.poll(60, function()
            return process.read_file("/proc/net/unix"):find(socket, 1, true)
        end), "it listens", process.read_file(command.stderr))
        for _, page in ipairs { "/hello?name=%3Cjohn%3E&x=%zz", "/table?max=99", "/sleep?ms=1", "/status?json&full", "/none" } do
            local client = memcheck(client_log, "full", t.load.program, "-q", "-n", "20", "-c", "3", "-k", "--variable",
                "--expect-status", page == "/none" and "404" or "200", "fcgi+unix:" .. socket .. ":" .. page)
            client.timeout = 120
            local result = process.run(client)
            t.is(result.status, 0, "the client: " .. page)
            t.note(result.err .. (process.read_file(client_log) or ""))
        end
        process.kill(server, "TERM")
        local how, code = process.wait(server, 60)
        t.ok(how == "exited" and code == 0, "the server ends without an error", tostring(how) .. " " .. tostring(code))
        t.is(process.read_file(log), "", "and valgrind has nothing to say")
    end)
end
t.done()
