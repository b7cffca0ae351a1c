#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- scripts/stack: up, status, a second up, down; from paths with spaces, by an ordinary user, when
-- a package is missing, when it is interrupted, and when the keeper was killed.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local cjson = require("cjson")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
package.path = t.root .. "/?.lua;" .. package.path
local stacks = require("stacks")
local stack_options = require("bench.suite.bring_up.stack_options")
local suite_stack = require("bench.suite.bring_up.stack")
t.need("nginx")

local NAME = "nginx-return"
local state_folder = t.dir .. "/stacks-" .. unistd.getuid()

local function stack(arguments, options)
    options = options or {}
    local command = options.prefix or {}
    command[#command + 1] = (options.root or t.root) .. "/scripts/stack"
    for _, word in ipairs(arguments) do
        command[#command + 1] = word
    end
    command.env = { TMPDIR = options.temporary or t.dir, BUILD = t.build, PATH = options.path }
    command.cwd = options.cwd or "/"
    command.timeout = 30
    return t.process.run(command)
end

local function pids_of(folder)
    local saved = cjson.decode(t.read_file(folder .. "/state.json"))
    local pids = { saved.keeper.pid }
    for _, group in pairs(saved.processes) do
        for _, one in ipairs(group) do
            pids[#pids + 1] = one.pid
        end
    end
    return pids, saved
end

local function all_gone(pids)
    return t.poll(5, function()
        for _, pid in ipairs(pids) do
            if t.process.alive(pid) then
                return false
            end
        end
        return true
    end)
end

t.case("life", function()
    local up = stack { "up", NAME }
    t.is(up.status, 0, "up")
    local url = up.out:match("^(http://127%.0%.0%.1:%d+)\n")
    t.ok(url, "prints the URL first", up.out .. up.err)
    t.is(t.http.get(url .. "/return").body, "hello world\n", "the page answers at once")
    local again = stack { "up", NAME }
    t.is(again.status, 1, "a second up")
    t.like(again.err, "is up already: " .. url:gsub("%p", "%%%0"), "says that it is up already")
    local status = stack { "status", NAME }
    t.is(status.status, 0, "status")
    t.like(status.out, "nginx%-return: up.*nginx +2 processes", "tells the processes")
    local pids = pids_of(state_folder .. "/" .. NAME)
    t.is(stack({ "down", NAME }).status, 0, "down")
    t.ok(all_gone(pids), "no process is left")
    t.ok(not stat.lstat(state_folder .. "/" .. NAME), "no file is left")
    t.is(stack({ "status", NAME }).status, 3, "status afterwards")
    t.is(stack({ "down", NAME }).status, 1, "a second down fails")
end)

t.case("temporary folder that is too deep for a socket", function()
    local deep = t.dir .. ("/deep"):rep(25)
    t.process.run { "mkdir", "-p", deep }
    local up = stack({ "up", "nginx-floor" }, { temporary = deep })
    if up.status == 4 then
        return t.skip("nginx-floor", up.err)
    end
    t.is(up.status, 0, "up")
    t.like(up.out, "fcgi%+unix:/tmp/stacks%-%d+/nginx%-floor/app%.sock:", "its sockets are in /tmp")
    t.is(stack({ "down", "nginx-floor" }, { temporary = deep }).status, 0, "down")
end)

t.case("port", function()
    local port = t.free_port()
    t.like(stack({ "up", NAME, "--port", port }).out, "^http://127%.0%.0%.1:" .. port .. "\n", "as asked")
    local fd = require("posix.sys.socket")
    local taken = fd.socket(fd.AF_INET, fd.SOCK_STREAM, 0)
    assert(fd.bind(taken, { family = fd.AF_INET, addr = "127.0.0.1", port = 0 }))
    fd.listen(taken, 1)
    local other = stack { "up", "nginx-static", "--port", fd.getsockname(taken).port }
    t.is(other.status, 1, "a port that is taken")
    t.like(other.err, "in use", "is named as the reason")
    t.ok(not other.err:find("static: nginx-static", 1, true) and not other.err:find("\n\n"), "once, and no empty line", other.err)
    unistd.close(taken)
    t.is(stack({ "down", "--all" }).status, 0, "down --all")
end)

t.case("missing package", function()
    -- A path without the program: what an installation without the package looks like.
    local bare = t.dir .. "/bin"
    stat.mkdir(bare, 493)
    for _, program in ipairs { "luajit", "env" } do
        local found = t.process.run { "which", program }.out:match("%S+")
        unistd.link(found, bare .. "/" .. program, true)
    end
    local up = stack({ "up", "nginx-php-cgi" }, { path = bare })
    t.is(up.status, 4, "an exit status of its own")
    t.like(up.err, "not installed %(package [%w-]+%)", "names the package")
    local list = stack({ "list" }, { path = bare })
    t.is(list.status, 0, "does not stop the list")
    t.like(list.out, "nginx%-php%-cgi +not installed %(package", "where it is told")
    t.like(list.out, "nginx%-return +nginx alone", "beside those that can run")
end)

t.case("usage", function()
    t.is(stack({ "up", "no-such-stack" }).status, 100, "an unknown stack")
    t.is(stack({ "up", NAME, "--children", "x" }).status, 100, "a count that is none")
    t.is(stack({ "sideways" }).status, 100, "an unknown command")
    for _, words in ipairs { { "--port", "99999" }, { "--port", "0" }, { "--workers", "0" }, { "--engine", "steam" } } do
        t.is(stack({ "up", NAME, unpack(words) }).status, 100, table.concat(words, " ") .. ": refused before anything starts")
    end
    local unused = stack { "up", "nginx-static", "--children", "8" }
    t.is(unused.status, 100, "an option that the stack has no use for")
    t.is(unused.err, "stack: nginx-static: no option children; it takes access_log, front_backlog, gzip, workers\n",
        "is named, and those it takes")
    t.is(stack({ "up", "lighttpd-fcgi", "--tcp" }).status, 100, "a flag likewise")
    t.like(stack({ "up", "./no-such.lua" }).err, "no such file", "a file that is not there")
    t.like(stack({ "status" }).out, "no stack is up", "nothing is up: said")
    t.like(stack({ "down", "--all" }).out, "no stack is up", "nothing to end: said")
    t.like(stack({ "down", NAME }).err, "is not up", "an error goes to standard error")
end)

t.case("description of one's own", function()
    local path = t.write_file(t.dir .. "/mine.lua", [[
        return {
            title = "my own",
            needs = { "nginx" },
            pages = { echo = "/return" },
            build = function(s, programs) return { programs.nginx(s, "static.conf") } end,
        }]])
    t.is(stack({ "up", path }).status, 0, "comes up")
    t.is(stack({ "down", "mine" }).status, 0, "goes down by its name")
end)

t.case("keeper killed", function()
    stack { "up", NAME }
    local pids, saved = pids_of(state_folder .. "/" .. NAME)
    t.process.kill(saved.keeper.pid, "KILL")
    t.ok(t.poll(5, function()
        return not t.process.alive(saved.keeper.pid)
    end), "it is gone")
    t.like(stack({ "status", NAME }).out, "nginx%-return: broken", "status tells")
    t.is(stack({ "down", NAME }).status, 0, "down cleans up")
    t.ok(all_gone(pids), "no process is left")
end)

t.case("interrupted", function()
    -- A page that never answers keeps up waiting.
    local path = t.write_file(t.dir .. "/waits.lua", [[
        return {
            title = "never ready",
            needs = { "nginx" },
            pages = { echo = "/no-such-page" },
            build = function(s, programs) return { programs.nginx(s, "static.conf") } end,
        }]])
    for _, number in ipairs { "INT", "TERM", "KILL" } do
        local pid = t.process.spawn { t.root .. "/scripts/stack", "up", path, env = { TMPDIR = t.dir } }
        local pid_file = state_folder .. "/waits/nginx.pid"
        t.ok(t.poll(10, function()
            return (t.read_file(pid_file) or ""):find("%d+\n")
        end), number .. ": nginx runs")
        local nginx = tonumber(t.read_file(pid_file):match("%d+"))
        t.process.finish(pid, number, 10)
        t.ok(all_gone { nginx }, number .. ": ends what it had started")
        t.ok(t.poll(5, function()
            return not stat.lstat(state_folder .. "/waits")
        end), number .. ": and leaves no file")
    end
end)

-- Copies what a stack needs to <place>.
local function copy_checkout(place)
    stat.mkdir(place, 493)
    t.process.run { "cp", "-a", t.root .. "/bench", t.root .. "/conf", t.root .. "/handlers",
        t.root .. "/scripts", place, timeout = 30 }
    stat.chmod(t.dir, 493)
end

-- Brings each up and down by <call>(arguments).
local function each_up_and_down(names, whom, call)
    for _, name in ipairs(names) do
        local counted = stack_options.takes(suite_stack.describe(name), "children")
        local up = call { "up", name, unpack(counted and { "--children", "2" } or {}) }
        if up.status == 4 then
            t.skip(name, up.err)
        else
            t.is(up.status, 0, name .. " " .. whom)
            if up.status ~= 0 then
                t.note(up.err)
            end
            call { "down", name }
        end
    end
end

t.case("path with a space and a non-ASCII letter", function()
    local place = t.dir .. "/ein Weg für alle"
    copy_checkout(place)
    local user = {}
    if unistd.geteuid() == 0 then
        user = { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups" }
        t.process.run { "chmod", "-R", "go+rX", place }
    end
    local temporary = place .. "/tmp ö"
    stat.mkdir(temporary, 511)
    stat.chmod(temporary, 511)
    each_up_and_down(stacks.some(), "as an ordinary user",
        function(arguments)
            return stack(arguments, { root = place, temporary = temporary, prefix = { unpack(user) } })
        end)
    t.is(t.process.run({ "find", place, "-name", "*.sock" }).out, "", "no socket is left")
end)

t.case("checkout that root alone can read", function()
    if unistd.geteuid() ~= 0 then
        return t.skip("as root", "not root")
    end
    local place = t.dir .. "/closed"
    copy_checkout(place)
    stat.chmod(place, 448)
    each_up_and_down(stacks.some(), "as root", function(arguments)
        return stack(arguments, { root = place })
    end)
end)

t.done()
