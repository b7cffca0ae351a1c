#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Socket activation, readiness notification and the unit files.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
local socket = require("posix.sys.socket")
local stat = require("posix.sys.stat")

local function listening(path)
    local fd = assert(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0))
    assert(socket.bind(fd, { family = socket.AF_UNIX, path = path }))
    assert(socket.listen(fd, 16))
    return fd
end

local notices = assert(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM, 0))
assert(socket.bind(notices, { family = socket.AF_UNIX, path = t.dir .. "/notify" }))

local function heard(pattern, seconds)
    local all = {}
    return process.poll(seconds or 5, function()
        while require("posix.poll").rpoll(notices, 0) == 1 do
            all[#all + 1] = socket.recv(notices, 4096)
        end
        return table.concat(all, "\n"):find(pattern)
    end)
end

local path = t.dir .. "/activated"
local pid = process.spawn {
    "/bin/sh", "-c", 'LISTEN_PID=$$ exec "$0" "$@"', t.server.program, "-n", "2",
    "-c", t.root .. "/conf/fcgi-server.lua",
    fds = { [3] = listening(path) }, stderr = t.dir .. "/log",
    env = { LISTEN_FDS = "1", NOTIFY_SOCKET = t.dir .. "/notify", FCGI_CHILDREN = false },
}
t.ok(heard("READY=1"), "READY=1 is sent", process.read_file(t.dir .. "/log"))
t.is(t.fcgi.get("unix:" .. path, "/hello?name=x").body, "<h1>Hello x</h1>", "the inherited socket is served")
process.kill(pid, "HUP")
t.ok(heard("RELOADING=1\nMONOTONIC_USEC=%d+"), "RELOADING=1 is sent")
t.ok(heard("READY=1", 10), "and READY=1 again")
t.is(t.fcgi.get("unix:" .. path, "/hello?name=x").body, "<h1>Hello x</h1>", "on the same socket")
process.kill(pid, "TERM")
t.ok(heard("STOPPING=1"), "STOPPING=1 is sent")
local how, code = process.wait(pid, 5)
t.ok(how == "exited" and code == 0, "ends with 0")
t.ok(stat.stat(path), "a socket that systemd made stays")

local two = process.run {
    "/bin/sh", "-c", 'LISTEN_PID=$$ exec "$0" "$@"', t.server.program, "-n", "1",
    env = { LISTEN_FDS = "2" },
}
t.ok(two.status == 100 and two.err:find("LISTEN_FDS"), "two sockets are refused")
local other = process.run { t.server.program, "-n", "1", stdin = "/dev/null",
    env = { LISTEN_FDS = "1", LISTEN_PID = "1" } }
t.is(other.status, 100, "sockets for another process are not taken")

local units = t.root .. "/conf/systemd/"
if process.run({ "sh", "-c", "command -v systemd-analyze" }).status == 0 then
    -- Through a link: a unit file would need a path with a space quoted, an installed one has none.
    local program_link = t.dir .. "/fcgi-server"
    require("posix.unistd").link(t.server.program, program_link, true)
    local program = process.read_file(units .. "fcgi-server.service"):gsub("/usr/local/bin/fcgi%-server", program_link)
    process.write_file(t.dir .. "/fcgi-server.service", program)
    process.run { "cp", units .. "fcgi-server.socket", t.dir }
    local result = process.run { "systemd-analyze", "verify", "--man=no", t.dir .. "/fcgi-server.service",
        t.dir .. "/fcgi-server.socket", timeout = 30 }
    t.ok(not result.err:find("fcgi%-server%.[a-z]+:"), "systemd-analyze finds nothing", result.err)
    local exposure = process.run { "systemd-analyze", "security", "--offline=true", "--no-pager", t.dir .. "/fcgi-server.service" }
        .out:match("Overall exposure level[^\n]*: ([%d.]+)")
    t.ok(exposure and tonumber(exposure) <= 1.5, "its exposure is 1.5 at most", "it is " .. tostring(exposure))
else
    t.skip("systemd-analyze", t.missing("systemd-analyze"))
end
t.done()
