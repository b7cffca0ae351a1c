#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- scripts/setup says what is missing and how to get it, and changes nothing when it may not or
-- need not; of a package's names it takes the one that this release has; apt's error is its last
-- word. (Here packages only seem to be missing: the real installation takes minutes.)
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local setup = t.root .. "/scripts/setup"

-- A folder for the front of PATH with a dpkg-query that does not know <names>.
local number = 0
local function without(names)
    number = number + 1
    local folder = t.dir .. "/without-" .. number
    stat.mkdir(folder, 493)
    local real = t.process.run({ "which", "dpkg-query" }).out:match("%S+")
    local filter = "^(" .. table.concat(names, "|") .. ") "
    t.write_file(folder .. "/dpkg-query", ('#!/bin/sh\n%s "$@" | grep -vE "%s"\n'):format(real, filter))
    stat.chmod(folder .. "/dpkg-query", 493)
    return folder .. ":" .. os.getenv("PATH")
end

-- The same folder with an apt-cache that offers only <names>.
local function offering(names, path)
    local folder = path:match("^[^:]+")
    local blocks = {}
    for _, name in ipairs(names) do
        blocks[#blocks + 1] = name .. ":\\n  Installed: (none)\\n  Candidate: 1.0\\n"
    end
    t.write_file(folder .. "/apt-cache", "#!/bin/sh\nprintf '" .. table.concat(blocks) .. "'\n")
    stat.chmod(folder .. "/apt-cache", 493)
    return path
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

local RENAMED = { "libluajit2-5.1-dev", "libluajit-5.1-dev", "luajit2", "luajit", "libllhttp-dev", "node-llhttp" }
local older = offering({ "libluajit2-5.1-dev", "libluajit-5.1-dev", "luajit2", "luajit", "node-llhttp" }, without(RENAMED))
t.like(run(older, "--print", "build", "test").out, "recommends libluajit2%-5%.1%-dev node%-llhttp luajit2 *\n",
    "names as in Debian 12")
RENAMED[#RENAMED + 1] = "h2o"
local newer = offering({ "libluajit-5.1-dev", "luajit", "libllhttp-dev", "node-llhttp" }, without(RENAMED))
t.like(run(newer, "--print", "build", "test").out, "recommends libluajit%-5%.1%-dev libllhttp%-dev luajit *\n",
    "names as in Debian 13")
t.like(run(newer, "--print", "fronts").out, "peers that this release does not have: [^\n]*h2o",
    "a peer that the release lacks is named and costs nothing")
t.like(run(newer, "--list").out, "\nh2o +fronts +peer +not in this release", "--list says so")

-- apt fails as it does for a package that it does not know, and goes on talking.
local function apt_fails(message)
    local path = without { "spawn-fcgi", "libfcgi-dev", "lighttpd" }
    t.write_file(path:match("^[^:]+") .. "/apt-get", [[
#!/bin/sh
case " $* " in *" install "*) ;; *) exit 0 ;; esac
echo Reading package lists...
echo "]] .. message .. [[" >&2
echo Building dependency tree...
exit 100
]])
    stat.chmod(path:match("^[^:]+") .. "/apt-get", 493)
    local result = run(path, "test")
    t.is(result.status, 1, message .. ": fails")
    return result.err:match("([^\n]*\n[^\n]*\n[^\n]*)\n$")
end
if unistd.geteuid() == 0 then
    t.like(apt_fails("E: Unable to locate package spawn-fcgi"), "not installed: spawn%-fcgi\n"
        .. "[^\n]*apt says: Unable to locate package spawn%-fcgi\n[^\n]*apt%-get update", "the end names package and remedy")
    t.like(apt_fails("E: dpkg was interrupted, you must manually run it"), "run dpkg %-%-configure %-a", "another remedy")
    t.like(apt_fails("E: something new"), "apt says: something new\n[^\n]*run: apt%-get install [^\n]*spawn%-fcgi",
        "an error without a remedy: the command")
else
    t.skip("apt's errors", "only root gets as far as apt")
end

t.is(run(nil, "no-such-group").status, 100, "an unknown group")
t.like(run(some, "--list").out, "spawn%-fcgi +test +required +missing", "--list tells the state of each")
t.ok(not stat.lstat("/usr/sbin/policy-rc.d.before-testbed"), "nothing is left of services held back")

t.done()
