#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- scripts/lab: hosts that are reached by ssh and Ansible like machines, with an address, a process
-- list, a delay and a processor share of their own; and nothing is left, whatever was killed.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local cjson = require("cjson")
local unistd = require("posix.unistd")

local NAME = "t" .. unistd.getpid() % 1000000
local FOLDER = "/var/lib/testbed-" .. NAME

local function lab(...)
    return t.process.run { t.root .. "/scripts/lab", "--name", NAME, timeout = 60, ... }
end

t.case("usage", function()
    for _, words in ipairs { { "up" }, { "up", "x" }, { "up", "65" }, { "up", "2", "--roles", "load=1" }, { "sideways" } } do
        t.is(lab(unpack(words)).status, 100, table.concat(words, " "))
    end
    local user = unistd.geteuid() == 0 and { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups" } or {}
    for _, word in ipairs { t.root .. "/scripts/lab", "up", "1" } do
        user[#user + 1] = word
    end
    local refused = t.process.run(user)
    if refused.status == 126 or refused.status == 127 then
        return t.skip("without root", "an ordinary user cannot reach this checkout")
    end
    t.is(refused.status, 1, "without root")
    t.like(refused.err, "needs root.*run: sudo ", "names the remedy")
end)

local function unable()
    if unistd.geteuid() ~= 0 then
        return "not root"
    end
    for _, program in ipairs { "ip", "sshd", "ssh", "unshare", "nsenter" } do
        if not t.has(program) then
            return program .. " is not installed (scripts/setup hosts)"
        end
    end
    return t.process.run({ "unshare", "--net", "--mount", "--pid", "--fork", "true" }).status ~= 0
        and "no namespaces can be made here" or nil
end

local why = unable()
if why then
    t.skip("hosts", why)
    t.done()
end

-- What of the lab is on this machine, one line each.
local function left()
    local lines = {}
    local function add(what, text, pattern)
        for line in text:gmatch("[^\n]+") do
            if line:find(pattern or "testbed-" .. NAME, 1, true) then
                lines[#lines + 1] = what .. ": " .. line
            end
        end
    end
    add("process", t.process.run({ "ps", "-eo", "pid,args" }).out)
    add("namespace", t.process.run({ "ip", "netns", "list" }).out)
    add("interface", t.process.run({ "ip", "-o", "link" }).out, "tb-" .. NAME)
    add("mount", t.read_file("/proc/self/mountinfo"))
    add("group", t.process.run({ "find", "/sys/fs/cgroup", "-name", "testbed-*", "-type", "d" }).out)
    add("folder", t.process.run({ "find", "/var/lib", "/run", "-maxdepth", "2", "-name", "testbed-*" }).out)
    return lines
end

local function nothing_left(name)
    local lines = {}
    t.poll(5, function()
        lines = left()
        return #lines == 0
    end)
    t.is(table.concat(lines, "\n"), "", name .. ": nothing is left")
end

local function state()
    return cjson.decode(t.read_file(FOLDER .. "/state.json"))
end

local function ssh(host, ...)
    return t.process.run { "ssh", "-F", "none", "-i", FOLDER .. "/key", "-o", "BatchMode=yes",
        "-o", "UserKnownHostsFile=" .. FOLDER .. "/known_hosts", "-o", "StrictHostKeyChecking=yes",
        "root@" .. host.address, ... }
end

local up = lab("up", "3", "--delay", "2ms", "--processors", "0.5")
t.is(up.status, 0, "three hosts come up")
local inventory = up.out:match("([^\n]+)\n$")
t.is(inventory, FOLDER .. "/inventory", "the last line is the inventory")
if up.status ~= 0 then
    t.note(up.err)
    lab("down")
    t.done()
end
local hosts = state().hosts

t.case("hosts", function()
    for index, name in ipairs { "load1", "front1", "application1" } do
        local host = hosts[index]
        t.is(host.name, name, "name and role")
        local seen = ssh(host, "hostname; ps -e -o comm=; ss -Hltn; cat /proc/self/cgroup")
        t.like(seen.out, "^" .. name .. "\n", "reached by ssh: " .. seen.err)
        t.ok(not seen.out:find("nginx") and not seen.out:find("ps%-e"), "its processes are its own")
        t.like(seen.out, "LISTEN [^\n]*" .. host.address:gsub("%.", "%%.") .. ":22", "sshd listens at its address")
        t.ok(not seen.out:find("0%.0%.0%.0:%d") and not seen.out:find("[::]:", 1, true)
            and not seen.out:find("*:22", 1, true), "and nowhere else", seen.out)
    end
    local other = t.process.run { "ssh", "-F", "none", "-i", FOLDER .. "/key", "-o", "BatchMode=yes",
        "-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=yes", "root@" .. hosts[1].address, "true" }
    t.like(other.err, "Host key verification failed", "a host that is not known is refused")
    local no_key = t.process.run { "ssh", "-F", "none", "-o", "IdentityAgent=none", "-o", "IdentityFile=/dev/null",
        "-o", "BatchMode=yes", "-o", "UserKnownHostsFile=" .. FOLDER .. "/known_hosts", "root@" .. hosts[1].address, "true" }
    t.like(no_key.err, "Permission denied %(publickey%)", "without the lab's key nobody enters, and there are no passwords")
end)

t.case("delay", function()
    if up.out:find("no delay", 1, true) then
        t.like(up.out, "note: no delay: this kernel has no netem", "what the kernel lacks is said")
        return t.skip("round trip", "this kernel has no netem")
    end
    local socket = require("posix.sys.socket")
    local least = math.huge
    for _ = 1, 5 do
        local fd = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        local begun = t.now()
        assert(socket.connect(fd, { family = socket.AF_INET, addr = hosts[3].address, port = 22 }))
        least = math.min(least, t.now() - begun)
        unistd.close(fd)
    end
    t.ok(least >= 0.004, "a round trip takes twice the delay", least)
end)

t.case("processors", function()
    if up.out:find("no processor shares", 1, true) then
        return t.skip("share", up.out:match("no processor shares[^\n]*"))
    end
    local group = hosts[2].group
    local quota = t.read_file(group .. "/cpu.max")
        or t.read_file(group .. "/cpu.cfs_quota_us"):gsub("\n", " ") .. t.read_file(group .. "/cpu.cfs_period_us")
    t.is(quota, "5000 10000\n", "half a processor")
    -- Two busy loops on one host: processor time of the group in a second of real time.
    local used = ssh(hosts[2], [[for i in 1 2; do timeout 1.5 sh -c 'while :; do :; done' & done; wait; times]]).out
    local total = 0
    for minutes, seconds in (used:match("\n([^\n]*)\n?$") or ""):gmatch("(%d+)m([%d.]+)s") do
        total = total + minutes * 60 + seconds
    end
    t.ok(total > 0 and total < 1.5 * 0.5 * 1.3, "its programs get no more", total .. " s in 1.5 s, " .. used)
end)

t.case("status and a second up", function()
    t.is(lab("status").status, 0, "all up")
    local again = lab("up", "2")
    t.is(again.status, 1, "a second up")
    t.like(again.err, "is up already, 3 hosts; to remove it, run: scripts/lab down %-%-name " .. NAME, "is refused, with the remedy")
    t.is(#state().hosts, 3, "and changes nothing")
end)

t.case("Ansible", function()
    if not t.has("ansible") then
        return t.skip("all hosts", "ansible-core is not installed (scripts/setup hosts)")
    end
    local answer = t.process.run { "ansible", "-i", inventory, "load:front:application", "-o", "-m", "raw", "-a", "hostname",
        timeout = 40, cwd = t.dir, env = { ANSIBLE_NOCOLOR = "1" } }
    for _, host in ipairs(hosts) do
        t.like(answer.out, host.name .. " | CHANGED | rc=0 | %(stdout%) " .. host.name, host.name .. " answers by its name")
    end
    if t.process.run({ "git", "-C", t.root, "rev-parse" }).status ~= 0 then
        return t.skip("check.yml", "this is not a git checkout")
    end
    ssh(hosts[2], "setsid -f luajit -e 'local s = require(\"posix.sys.socket\"); local f = s.socket(2, 1, 0);"
        .. " s.bind(f, {family = 2, addr = \"" .. hosts[2].address .. "\", port = 20083}); s.listen(f, 1);"
        .. " require(\"posix.unistd\").sleep(60)' >/dev/null 2>&1 </dev/null")
    local check = t.process.run { "ansible-playbook", "-i", inventory, t.root .. "/bench/hosts/check.yml",
        timeout = 60, cwd = t.dir, env = { ANSIBLE_NOCOLOR = "1", ANSIBLE_NOCOWS = "1" } }
    t.ok(check.status ~= 0, "check.yml: hosts that were not prepared fail")
    for _, host in ipairs(hosts) do
        t.like(check.out, host.name .. " lacks the checkout in " .. host.work:gsub("%p", "%%%0")
            .. "; run: ansible%-playbook %-i INVENTORY bench/hosts/prepare.yml", host.name .. ": named, with the remedy")
    end
    t.like(check.out, "front1 lacks [^\n]*free ports, taken: 20083; end what listens", "a port that is taken")
    t.ok(not check.out:find("load1 lacks [^\n]*free ports"), "on that host alone")
    local _, clocks = check.out:gsub("clock [+-][%d.]+ ms %+%- [%d.]+ ms", "")
    t.is(clocks, 3, "the clock of each is measured")
end)

t.case("killed", function()
    -- A process that has left everything it can leave.
    ssh(hosts[3], "setsid -f sh -c 'cd /; exec sleep 1000' >/dev/null 2>&1 </dev/null")
    local listener = ssh(hosts[1], "pgrep -f '^sshd: /usr/sbin/sshd'").out:match("%d+")
    ssh(hosts[1], "kill -9 " .. listener)
    t.process.kill(hosts[2].pid, "KILL")
    t.poll(5, function()
        return lab("status").out:find("gone")
    end)
    local status = lab("status")
    t.is(status.status, 1, "status fails")
    t.like(status.out, "load1 [^\n]*no sshd\n.*front1 [^\n]*gone\n.*application1 [^\n]* up\n", "and tells which")
    t.is(lab("down").status, 0, "down")
    nothing_left("after SIGKILL of an sshd and of a host")
    t.like(lab("down").out, "no lab '" .. NAME .. "' is up", "a second down has nothing to do")
    t.is(lab("status").status, 3, "status: not up")
end)

t.case("state lost", function()
    t.is(lab("up", "2").status, 0, "up")
    t.process.run { "rm", "-rf", FOLDER }
    local again = lab("up", "2")
    t.like(again.err, "a part of a lab '" .. NAME .. "' is there", "up says what is in the way")
    t.is(lab("down").status, 0, "down finds it by its names")
    nothing_left("without saved state")
end)

t.case("up interrupted", function()
    for _, signal in ipairs { "INT", "KILL" } do
        local pid = t.process.spawn { t.root .. "/scripts/lab", "--name", NAME, "up", "40" }
        t.poll(10, function()
            return (t.read_file(FOLDER .. "/state.json") or ""):find('"start_ticks"', 1, true)
        end)
        t.process.finish(pid, signal, 20)
        if signal == "KILL" then
            t.ok(#left() > 0, "killed in the middle: parts are there")
            t.is(lab("down").status, 0, "down")
        end
        nothing_left("SIG" .. signal)
    end
end)

t.done()
