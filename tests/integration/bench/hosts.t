#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Programs on other hosts, over ssh: they get their words as they are, their ends are told, and they
-- end when the connection ends, whatever ended it. The hosts are a lab's.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local unistd = require("posix.unistd")
local clock = require("bench.suite.hosts.clock")
local inventory = require("bench.suite.hosts.inventory")
local process = require("bench.suite.system.process")
local remote = require("bench.suite.hosts.remote")
local ssh = require("bench.suite.hosts.ssh")

if unistd.geteuid() ~= 0 then
    t.skip("hosts", "not root")
    t.done()
end
t.need("ansible-inventory", "sshd", "ssh", "scp", "ip")

local NAME = "h" .. unistd.getpid() % 1000000
local function lab(...)
    return t.process.run { t.root .. "/scripts/lab", "--name", NAME, timeout = 60, ... }
end

local up = lab("up", "2")
if up.status ~= 0 then
    t.skip("hosts", "no lab can be made here: " .. up.err)
    t.done()
end
local path = up.out:match("([^\n]+)\n$")
local inventory_read, why = inventory.read(path)
if not inventory_read then
    t.ok(false, "the lab's inventory", why)
    lab("down")
    t.done()
end
local host, other = inventory_read.hosts[1], inventory_read.hosts[2]
local namespace = ("testbed-%s-%s"):format(NAME, host.name)

-- How many processes of the host sleep <seconds>, a number that only this test uses.
local function sleepers(seconds)
    local count = 0
    for pid in t.process.run({ "ip", "netns", "pids", namespace }).out:gmatch("%d+") do
        count = count + (t.process.command(pid) == "sleep " .. seconds and 1 or 0)
    end
    return count
end

-- Pids in the host whose command line has <pattern>.
local function pids(pattern)
    local list = {}
    for pid in t.process.run({ "ip", "netns", "pids", namespace }).out:gmatch("%d+") do
        if (t.process.command(pid) or ""):find(pattern) then
            list[#list + 1] = tonumber(pid)
        end
    end
    table.sort(list)
    return list
end

local function all_asleep(seconds, wanted, limit_s)
    return t.poll(limit_s or 5, function()
        return sleepers(seconds) == wanted
    end)
end

-- A program with a daemon that has left its session, both asleep for <seconds>.
local function family(seconds)
    return { "sh", "-c", ("setsid -f sleep %s >/dev/null 2>&1; sleep %s; true"):format(seconds, seconds) }
end

local session = assert(ssh.open(host))
session:run { "mkdir", "-p", host.checkout }
assert(session:send(t.root .. "/bench", host.checkout .. "/bench"))

t.case("commands", function()
    local hard = { "a b", "", "'", "$x `y` \\", "*", "line\nline", "\195\164" }
    local result = session:run({ "printf", "%s|", unpack(hard) })
    t.is(result.out, table.concat(hard, "|") .. "|", "words arrive as they are")
    t.is(session:run({ "sh", "-c", "exit 7" }).code, 7, "the exit code")
    t.is(session:run({ "hostname" }).out, host.name .. "\n", "on the host")
    t.ok(session:alive(), "the connection stands")
    local stranger = { name = "stranger", ssh = { address = "192.0.2.1", options = { "-o", "ProxyCommand=/bin/false" } } }
    t.like(select(2, ssh.open(stranger)), "^stranger: cannot be reached by ssh: ", "a host that cannot be reached is named")
end)

t.case("files", function()
    local name = host.folder:gsub("/work$", "") .. "/a [b] *'x"
    local from = t.write_file(t.dir .. "/from", ("x"):rep(100000))
    t.ok(session:send(from, name), "sent")
    t.ok(session:fetch(name, t.dir .. "/back"), "fetched")
    t.is(t.read_file(t.dir .. "/back"), ("x"):rep(100000), "the same")
    local ok, reason = session:fetch("/none", t.dir .. "/none")
    t.ok(not ok and reason:find(host.name .. ": not copied: ", 1, true), "a file that is not there", reason)
end)

t.case("clock", function()
    local found = assert(clock.measure(session))
    t.ok(found.error_s > 0 and found.error_s < 0.5, "an error", found.error_s)
    t.ok(math.abs(found.offset_s) <= found.error_s + 1e-6, "one clock: no offset beyond it",
        ("%g +- %g"):format(found.offset_s, found.error_s))
    t.is(found.samples, 16, "of 16 round trips")
end)

t.case("programs", function()
    local result = remote.run(session, { "sh", "-c", "pwd; echo $WHO; echo err >&2; exit 5" }, { directory = "/tmp", env = { WHO = "a 'b" } })
    t.is(result.out .. result.err .. result.code, "/tmp\na 'b\nerr\n5", "folder, environment, both outputs, exit code")
    t.is(remote.run(session, { "sh", "-c", "exit 255" }).code, 254, "255 stays ssh's own")
    t.is(remote.run(session, { "sh", "-c", "kill -9 $$" }).code, 137, "128 and the signal")
    t.is(remote.run(session, { "cat" }).out, "", "nothing on standard input")
    local missing = remote.run(session, { "no-such-program" })
    t.is(missing.code, 127, "a program that is not there")
    t.like(missing.err, "no%-such%-program: cannot be started", "is named")
    local big = remote.run(session, { "sh", "-c", "head -c 3000000 /dev/zero" })
    t.is(#big.out, 3000000, "much output")
    local elsewhere = assert(ssh.open(other))
    t.like(select(2, remote.start(elsewhere, { "true" })), "^" .. other.name .. ": true cannot be started: .*remote%-run",
        "a host without checkout is named")
    elsewhere:run { "mkdir", "-p", other.checkout }
    assert(elsewhere:send(t.root .. "/bench", other.checkout .. "/bench"))
    local one = assert(remote.start(session, { "sh", "-c", "sleep 0.3; hostname" }))
    local two = assert(remote.start(elsewhere, { "hostname" }))
    local three = assert(process.start({ "echo", "here" }))
    local all = remote.gather({ one, two, three })
    t.is(all[1].out .. all[2].out .. all[3].out, host.name .. "\n" .. other.name .. "\nhere\n", "hosts and this machine at once")
    elsewhere:close()
end)

t.case("ends", function()
    local program = assert(remote.start(session, family(4711)))
    t.ok(all_asleep(4711, 2), "a program and its daemon run")
    local seen = session:run({ "ps", "-o", "args=", "-p", tostring(program.host_pid) })
    t.like(seen.out, "^sh %-c", "its pid on the host")
    t.is(program:stop().code, 143, "stop: TERM")
    t.is(sleepers(4711), 0, "both are gone")
    program = assert(remote.start(session, { "sh", "-c", "trap '' TERM; while :; do sleep 4711; done" }, { grace_s = 0.3 }))
    t.is(program:stop().code, 137, "one that ignores TERM: KILL")
    t.is(sleepers(4711), 0, "it is gone")
    program = assert(remote.start(session, { "sh", "-c", "trap 'echo caught; exit 3' INT; sleep 4711 & wait" }))
    t.ok(all_asleep(4711, 1), "one that waits")
    program:signal("INT")
    local result = remote.gather({ program })[1]
    t.is(result.out .. result.code, "caught\n3", "a signal")
    program = assert(remote.start(session, family(4711)))
    t.ok(remote.gather({ program }, { timeout_s = 0.2 })[1].timed_out, "a time limit")
    t.ok(all_asleep(4711, 0), "ends it on the host, too")
end)

t.case("many", function()
    local list = {}
    for number = 1, 20 do
        list[number] = assert(remote.start(session, { "sleep", "4712" }))
    end
    t.is(sleepers(4712), 20, "more than sshd takes over one connection")
    for _, program in ipairs(list) do
        program:close()
    end
    local ended = 0
    for _, result in ipairs(remote.gather(list, { timeout_s = 15 })) do
        ended = ended + (result.code == 143 and 1 or 0)
    end
    t.is(ended, 20, "all end")
    t.is(sleepers(4712), 0, "and none is left")
end)

-- Each way by which a connection ends: what ends it, given the program, and how long it may take.
local lapse = remote.LAPSE_S
local WAYS = {
    { "SIGKILL of ssh here", function(program)
        t.process.kill(program.pid, "KILL")
    end, 5 },
    { "SIGKILL of the kept connection", function(program)
        t.process.kill(program.master.pid, "KILL")
    end, 5 },
    { "SIGKILL of the host's sshd and all its sessions", function()
        for _, pid in ipairs(pids("^sshd: root@")) do
            t.process.kill(pid, "KILL")
        end
    end, 5 },
    { "SIGKILL of remote-run's guard", function()
        t.process.kill(pids("^luajit .*/remote%-run ")[1], "KILL")
    end, 5 },
    { "SIGKILL of remote-run's keeper", function()
        t.process.kill(pids("^luajit .*/remote%-run ")[2], "KILL")
    end, 5 },
    { "SIGSTOP of who says that it is wanted", function(program)
        t.process.kill(program.beat.pid, "STOP")
    end, lapse + 5 },
    { "the host's link goes down", function()
        t.process.run { "ip", "-n", namespace, "link", "set", "eth0", "down" }
    end, lapse + 5, function()
        t.process.run { "ip", "-n", namespace, "link", "set", "eth0", "up" }
    end },
}
for index, way in ipairs(WAYS) do
    t.case(way[1], function()
        local connection = assert(ssh.open(host))
        local seconds = 4800 + index
        local program = assert(remote.start(connection, family(seconds)))
        t.ok(all_asleep(seconds, 2), "a program and its daemon run")
        way[2](program)
        t.ok(all_asleep(seconds, 0, way[3]), "both end")
        local result = remote.gather({ program }, { timeout_s = 15 })[1]
        t.ok(not result.timed_out and result.code ~= 0, "which is seen here", "code " .. result.code)
        if way[4] then
            way[4]()
        end
        connection:close()
    end)
end

t.case("SIGKILL of the suite", function()
    local script = t.write_file(t.dir .. "/suite.lua", ([[
        package.path = %q .. "/?.lua;" .. package.path
        local host = assert(require("bench.suite.hosts.inventory").read(%q)).hosts[1]
        local session = assert(require("bench.suite.hosts.ssh").open(host))
        local program = assert(require("bench.suite.hosts.remote").start(session, { "sleep", "4900" }))
        require("bench.suite.system.process").sleep(60)
    ]]):format(t.root, path))
    local pid = t.process.spawn { "luajit", script, env = { TMPDIR = t.dir } }
    t.ok(all_asleep(4900, 1, 20), "a program runs")
    t.process.finish(pid, "KILL")
    t.ok(all_asleep(4900, 0), "it ends")
end)

session:close()
t.is(lab("down").status, 0, "the lab goes")
t.done()
