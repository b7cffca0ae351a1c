#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- bench/hosts/*.yml by hand: prepare makes hosts ready (one compiles, one takes our programs) and
-- changes nothing the second time; check names what is lacking; clean removes one folder.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local unistd = require("posix.unistd")

if unistd.geteuid() ~= 0 then
    t.skip("playbooks", "not root")
    t.done()
end
t.need("ansible-playbook", "sshd", "ssh", "ip", "git")

local NAME = "p" .. unistd.getpid() % 1000000
local FOLDER = "/var/lib/testbed-" .. NAME
local function lab(...)
    return t.process.run { t.root .. "/scripts/lab", "--name", NAME, timeout = 60, ... }
end

local up = lab("up", "2")
if up.status ~= 0 then
    t.skip("playbooks", "no lab can be made here: " .. up.err)
    t.done()
end
-- The first host compiles, as it would on a machine of its own; the second takes the lab's default.
local inventory = t.write_file(t.dir .. "/inventory", (t.read_file(FOLDER .. "/inventory"):gsub(
    "(load1 [^\n]*)", "%1 testbed_programs=compile", 1)))
local COMPILES, COPIES = "load1", "server1"

local function play(name, ...)
    return t.process.run { "ansible-playbook", "-i", inventory, t.root .. "/bench/hosts/" .. name .. ".yml",
        timeout = 600, cwd = "/", env = { ANSIBLE_NOCOLOR = "1", ANSIBLE_NOCOWS = "1", TMPDIR = t.dir }, ... }
end

local function work(host)
    return FOLDER .. "/hosts/" .. host .. "/work"
end

-- The line of <host> in the recap: changed=N failed=N.
local function recap(result, host, what)
    return tonumber(result.out:match("\n" .. host .. " +:[^\n]* " .. what .. "=(%d+)"))
end

t.case("prepare", function()
    local first = play "prepare"
    t.is(first.status, 0, "the first time")
    if first.status ~= 0 then
        t.note(first.out .. first.err)
    end
    for _, host in ipairs { COMPILES, COPIES } do
        t.ok((recap(first, host, "changed") or 0) > 0, host .. ": something was done")
        local served = t.process.run { "ip", "netns", "exec", ("testbed-%s-%s"):format(NAME, host),
            work(host) .. "/checkout/build/fcgi-server", "-t", "-c", work(host) .. "/checkout/conf/fcgi-server.lua" }
        t.is(served.status, 0, host .. ": the server there loads its handlers")
    end
    t.ok(t.process.run({ "test", "-e", work(COMPILES) .. "/checkout/build/obj" }).status == 0, "one has compiled")
    t.ok(t.process.run({ "test", "-e", work(COPIES) .. "/checkout/build/obj" }).status ~= 0, "the other has not")
    local second = play "prepare"
    t.is(second.status, 0, "a second time")
    for _, host in ipairs { COMPILES, COPIES } do
        t.is(recap(second, host, "changed"), 0, host .. ": nothing is changed")
    end
    t.is(t.process.run({ "find", t.dir, "-name", "tmp.*" }).out, "", "nothing is left here")
end)

t.case("check", function()
    t.is(play("check").status, 0, "prepared hosts are ready")
    t.write_file(work(COPIES) .. "/tree", "another\n")
    local other = play "check"
    t.like(other.out, COPIES .. " lacks this version of the checkout %(there: another, here: %x+%); run: ", "another version")
    t.is(recap(other, COMPILES, "failed"), 0, "on that host alone")
    t.process.run { "sh", "-c", "kill -9 $(ip netns pids testbed-" .. NAME .. "-" .. COMPILES .. ")" }
    local gone = play "check"
    t.like(gone.out, COMPILES .. " cannot be reached by ssh %(.*Check ansible_host", "a host that cannot be reached")
    t.is(recap(gone, COPIES, "failed"), 1, "the other is still looked at")
end)

t.case("clean", function()
    local runs = t.process.spawn { "ip", "netns", "exec", ("testbed-%s-%s"):format(NAME, COPIES), "sleep", "600" }
    t.process.finish(runs, "KILL")
    local address = t.read_file(inventory):match(COPIES .. " ansible_host=(%S+)")
    t.process.run { "ssh", "-F", "none", "-i", FOLDER .. "/key", "-o", "UserKnownHostsFile=" .. FOLDER .. "/known_hosts",
        "root@" .. address, "cd " .. work(COPIES) .. " && setsid -f sleep 4999 >/dev/null 2>&1 </dev/null" }
    local first = play("clean", "--limit", COPIES)
    t.is(first.status, 0, "done")
    t.is(recap(first, COPIES, "changed"), 1, "something was removed")
    t.ok(t.process.run({ "test", "-e", work(COPIES) }).status ~= 0, "the folder is gone")
    t.ok(not t.process.run({ "ps", "-eo", "args" }).out:find("sleep 4999", 1, true), "what ran from it has ended")
    local second = play("clean", "--limit", COPIES)
    t.is(second.status .. " " .. recap(second, COPIES, "changed"), "0 0", "a second time: nothing to do")
    t.process.run { "mkdir", work(COPIES) }
    t.write_file(work(COPIES) .. "/precious", "x")
    local refused = play("clean", "--limit", COPIES)
    t.like(refused.out, "was not made by prepare.yml: left alone", "a folder of others")
    t.is(t.read_file(work(COPIES) .. "/precious"), "x", "is left alone")
    t.like(play("prepare", "--limit", COPIES).out, "holds files of others; name a folder of its own", "and not prepared")
end)

t.is(lab("down").status, 0, "the lab goes")
t.done()
