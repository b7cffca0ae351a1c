#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- scripts/setup says what is missing and how to get it, and changes nothing when it may not or
-- need not. (Here packages only seem to be missing: the real installation takes minutes.)
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local setup = t.root .. "/scripts/setup"

-- A folder for the front of PATH with a dpkg-query that does not know <names>.
local function without(names)
    local folder = t.dir .. "/without-" .. #names
    stat.mkdir(folder, 493)
    local real = t.process.run({ "which", "dpkg-query" }).out:match("%S+")
    local filter = "^(" .. table.concat(names, "|") .. ") "
    t.write_file(folder .. "/dpkg-query", ('#!/bin/sh\n%s "$@" | grep -vE "%s"\n'):format(real, filter))
    stat.chmod(folder .. "/dpkg-query", 493)
    return folder .. ":" .. os.getenv("PATH")
end

local function run(path, ...)
    local command = { setup, ... }
    command.env = { PATH = path or os.getenv("PATH") }
    return t.process.run(command)
end

t.need("dpkg-query")

-- As a user without rights and without a terminal.
local function without_rights(path, ...)
    local command = { setup, ... }
    if unistd.geteuid() == 0 then
        for index, word in ipairs { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs" } do
            table.insert(command, index, word)
        end
    end
    command.env = { PATH = path }
    return t.process.run(command)
end

stat.chmod(t.dir, 493)
local some = without { "spawn-fcgi", "libfcgi-dev", "lighttpd" }
local peer = without { "lighttpd" }

local print_only = run(some, "--print")
t.is(print_only.status, 0, "--print")
t.like(print_only.out, "missing: libfcgi%-dev spawn%-fcgi", "names what is missing")
t.like(print_only.out, "missing peers [^\n]*lighttpd", "names the peers apart")
t.like(print_only.out, "\napt%-get install %-%-no%-install%-recommends [^\n]*libfcgi%-dev spawn%-fcgi [^\n]*lighttpd",
    "prints the command")
t.like(run(some, "--print", "build").out, "^[^\n]*missing: libfcgi%-dev *\napt", "only the group that is asked for")

local no_rights = without_rights(some)
if no_rights.status == 126 or no_rights.status == 127 then
    t.skip("without rights", "an ordinary user cannot reach this checkout")
    t.done()
end
t.is(no_rights.status, 1, "without rights and without a required package: fails")
t.like(no_rights.err, "run as root: apt%-get install [^\n]*libfcgi%-dev spawn%-fcgi", "and says exactly what to run")
no_rights = without_rights(peer)
t.is(no_rights.status, 0, "without rights and without a peer: goes on")
t.like(no_rights.err, "run as root: apt%-get install [^\n]*lighttpd", "and says how to have it")

t.is(run(nil, "no-such-group").status, 100, "an unknown group")
t.like(run(some, "--list").out, "spawn%-fcgi +test +required +missing", "--list tells the state of each")
t.ok(not stat.lstat("/usr/sbin/policy-rc.d.before-testbed"), "nothing is left of services held back")

t.done()
