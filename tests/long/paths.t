#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A checkout whose path has a space and a letter outside ASCII, built, tested and benched
-- by an ordinary user without /usr/sbin on the PATH; as root in a folder closed to others; a path too long for a socket;
-- from another working directory. Nothing is written outside checkout and TMPDIR.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
t.need("git", "nginx", "curl", "setpriv")

local ROOT = require("posix.unistd").geteuid() == 0
local USER = "nobody"

-- The files under version control, as they are now.
local function checkout(path)
    process.run { "mkdir", "-p", path }
    local result = process.run {
        "sh", "-c", 'cd "$0" && git ls-files -z | tar --null -T - -cf - | tar -C "$1" -xf -', t.root, path, timeout = 60,
    }
    t.is(result.status, 0, "a fresh checkout", result.err)
end

local function as_user(command, options)
    local words = {}
    if ROOT and not options.as_root then
        words = { "setpriv", "--reuid", USER, "--regid", "nogroup", "--clear-groups", "--" }
    end
    for _, word in ipairs(command) do
        words[#words + 1] = word
    end
    words.cwd, words.timeout = options.cwd, options.timeout or 400
    words.env = { HOME = options.home or "/nonexistent", TMPDIR = options.tmp, PATH = "/usr/bin:/bin", BUILD = false, TEST_LOGS = false,
        MAKEFLAGS = false, MAKELEVEL = false }
    return process.run(words)
end

local function stack_works(top, options, name)
    local up = as_user({ top .. "/scripts/stack", "up", "nginx-fcgi-c" }, options)
    local url = up.out:match("http://%S+")
    t.ok(up.status == 0 and url, name .. ": a stack starts", up.out .. up.err)
    if url then
        local page = process.run { "curl", "-s", url:gsub("/$", "") .. "/hello?name=john" }
        t.is(page.out, "<h1>Hello john</h1>", name .. ": and answers")
    end
    local down = as_user({ top .. "/scripts/stack", "down", "nginx-fcgi-c" }, options)
    t.is(down.status, 0, name .. ": and ends", down.err)
end

local function newer_files(mark, folders)
    local command = { "find" }
    for _, folder in ipairs(folders) do
        command[#command + 1] = folder
    end
    for _, word in ipairs { "-newer", mark, "-type", "f", "-user", USER } do
        command[#command + 1] = word
    end
    return process.run(command).out
end

local function ordinary_user()
    local top = t.dir .. "/a späce/check out"
    local tmp = t.dir .. "/tmp"
    checkout(top)
    process.run { "mkdir", tmp }
    if ROOT then
        process.run { "chmod", "755", t.dir }
        process.run { "chown", "-R", USER .. ":nogroup", t.dir .. "/a späce", tmp }
    end
    local mark = process.write_file(t.dir .. "/mark", "")
    local options = { cwd = "/", tmp = tmp }
    local built = as_user({ "make", "-s", "-C", top, "-j2", "CFLAGS=-O0", "tests-built" }, options)
    t.is(built.status, 0, "builds", (built.out .. built.err):sub(-1500))
    local tested = as_user({ top .. "/tests/run", "routes.t", "client/fcgi", "socket_file", "conf_files" }, options)
    t.ok(tested.status == 0 and tested.out:find("%d+ passed, 0 failed"), "tests pass, from another folder",
        tested.out:sub(-3000) .. tested.err)
    stack_works(top, options, "ordinary user")
    local doc = process.write_file(t.dir .. "/doc.lua", [[
return { name = "doc", comparisons = { { name = "one", title = "one", page = "echo", expect = { bytes = 12 },
    load = { connections = 4 }, arms = { { stack = "nginx-fcgi-c", documented = { children = 2 } }, { stack = "nginx-lua" } } } } }
]])
    local benched = as_user({ top .. "/bench/bench", "run", "-p", "quick", "--slot", "0.1", "--rounds", "1", "--plain",
        "-o", top .. "/results", doc }, options)
    t.ok(benched.status == 0 and not benched.err:find("alert"), "a comparison is measured",
        (benched.out .. benched.err):sub(-2000))
    if ROOT then
        t.is(newer_files(mark, { "/var", "/etc", "/run", "/home", "/root", "/usr/share" }), "",
            "nothing is written outside the checkout and TMPDIR")
    end
    local left = process.run { "find", tmp, "-mindepth", "1", "!", "-type", "d" }
    t.is(left.out, "", "nothing stays in TMPDIR")
end

local function link_build(top)
    process.run { "cp", "-r", t.build, top .. "/build" }
end

local function closed_folder()
    local top = t.dir .. "/closed/checkout"
    checkout(top)
    link_build(top)
    process.run { "chmod", "700", t.dir .. "/closed" }
    local up = as_user({ top .. "/scripts/stack", "up", "nginx-fcgi-c" }, { cwd = "/", as_root = true, home = t.dir })
    local url = up.out:match("http://%S+")
    if up.status ~= 0 then
        t.ok(#(up.out .. up.err) < 1000, "as root in a closed folder: refused with a clear line", up.out .. up.err)
    else
        local page = process.run { "curl", "-s", url:gsub("/$", "") .. "/hello?name=john" }
        t.is(page.out, "<h1>Hello john</h1>", "as root in a closed folder: it works")
        as_user({ top .. "/scripts/stack", "down", "nginx-fcgi-c" }, { cwd = "/", as_root = true })
    end
end

local function deep()
    local top = t.dir .. "/" .. ("deep/"):rep(25) .. "checkout"
    checkout(top)
    link_build(top)
    stack_works(top, { cwd = "/", as_root = true, home = t.dir }, "a path of " .. #top .. " bytes")
end

t.case("ordinary user", ordinary_user)
if ROOT then
    t.case("root", closed_folder)
end
t.case("deep", deep)
t.done()
