#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- scripts/debian-chroot runs a command in another root with the checkout inside, hands on its
-- status, and leaves neither mounts nor processes, whatever ends it. (The release here is a shell
-- with its libraries; fetching a real one takes minutes and the network.)
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local script = t.root .. "/scripts/debian-chroot"
local releases = t.dir .. "/some releases"
local root = releases .. "/debian-13"

local function run(...)
    local command = { script, ... }
    command.env = { CHROOTS = releases, BUILD = false }
    return process.run(command)
end

t.like(run("11", "--", "true").err, '"11": expected one of 12 %(bookworm%), 13 %(trixie%)', "an unknown release: those there are")
t.is(run().status, 100, "no release: usage")
t.is(run("--no-such", "13").status, 100, "an unknown option: usage")
if require("posix.unistd").geteuid() ~= 0 then
    t.like(run("13").err, "sudo scripts/debian%-chroot 13", "an ordinary user is told to use sudo")
    t.skip("running there", "needs root")
    t.done()
elseif process.run({ "unshare", "--mount", "--pid", "--fork", "true" }).status ~= 0 then
    t.skip("running there", "no mount and PID namespaces can be made here")
    t.done()
end

for _, folder in ipairs { "/etc/apt/apt.conf.d", "/proc", "/sys", "/dev", "/tmp", "/run", "/bin" } do
    process.run { "mkdir", "-p", root .. folder }
end
for _, name in ipairs { "sh", "sleep", "cat", "ls" } do
    local path = t.path(name)
    process.run { "cp", "-L", path, root .. "/bin/" .. name }
    for library in process.run({ "ldd", path }).out:gmatch("/%S+") do
        process.run { "cp", "-L", "--parents", library, root }
    end
end

local function mounts()
    return select(2, (t.read_file("/proc/self/mountinfo") or ""):gsub("some\\040releases", ""))
end
local function sleepers()
    return #process.run({ "pgrep", "-x", "-f", "/bin/sleep 4371" }).out
end

local result = run("13", "--", "/bin/sh", "-c", '/bin/ls "$1"; /bin/cat /proc/self/stat; echo "$BUILD $HOME"; exit 7', "sh", t.root)
t.is(result.status, 7, "the command's status")
t.like(result.out, "Makefile\n", "the checkout is inside, at its own path")
t.like(result.out, "\n%d?%d %(cat%) ", "its processes are counted anew: a namespace of its own")
t.like(result.out, "\nbuild/debian%-13 /root\n$", "it builds into a folder of its own")
t.is(mounts(), 0, "nothing is left mounted")
t.is(run("trixie", "--", "/bin/sh", "-c", "exit 3").status, 3, "by its name, too")

run("13", "--", "/bin/sh", "-c", "/bin/sleep 4371 & exit 0")
t.is(sleepers(), 0, "what the command left running ends with it")
for _, signal in ipairs { "TERM", "KILL" } do
    local pid = process.spawn { script, "13", "--", "/bin/sh", "-c", "/bin/sleep 4371 & /bin/sleep 4371",
        env = { CHROOTS = releases, BUILD = false } }
    t.ok(process.poll(5, function()
        return sleepers() > 0
    end), signal .. ": it runs")
    process.finish(pid, signal, 5)
    t.ok(process.poll(5, function()
        return sleepers() == 0 and mounts() == 0
    end), signal .. ": its processes and mounts are gone")
end

local pid = process.spawn { script, "13", "--", "/bin/sleep", "4371", env = { CHROOTS = releases, BUILD = false } }
process.poll(5, function()
    return sleepers() > 0
end)
t.like(run("--remove", "13").err, "is in use by another run", "a release in use is not removed")
process.finish(pid, "TERM", 5)
process.poll(5, function()
    return sleepers() == 0
end)
t.is(run("--remove", "13").status, 0, "removed")
t.is(process.run({ "ls", releases }).out, "", "with all that belongs to it")
t.ok(t.read_file(t.root .. "/Makefile"), "and the checkout stands")
t.done()
