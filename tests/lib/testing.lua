-- SPDX-License-Identifier: MIT
--
-- testing.lua - what every integration test starts with:
--
--   #!/usr/bin/env luajit
--   package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
--   local t = require("testing")
--   local server = t.server.start { children = 2 }
--   t.is(server:get("/hello?name=john").body, "<h1>Hello john</h1>", "the greeting")
--   server:unchanged("after a greeting")      -- same pids, descriptors, no error in the log
--   t.done()
--
-- Results (TAP on stdout):
--   t.ok(condition, name, why)   t.is(got, wanted, name)   t.like(text, lua_pattern, name)
--   t.skip(name, reason)         -- the reason stands at the end of the run
--   t.note(text)                 t.done()
--   t.case(name, function)       -- an error inside is one failed test, the file goes on
--   t.each_engine(function(engine))   -- a case for each of server.engines
--   t.path(program) -> its path or nil; "php-fpm*.*": the newest that there is
--   t.has(program) -> bool; t.missing(program) -> nil, or the reason for t.skip, with the package
--   t.need(program...) skips the whole file without them
-- Places:
--   t.root   the checkout        t.build  the build folder (environment BUILD)
--   t.dir    a private temporary folder, removed at the end, short enough for a socket
--   t.fixture(name) -> path of a handler in tests/fixtures, "x.so" from the build folder
--   t.free_port() -> a TCP port that was free just now
-- Parts (each documented at its head):
--   t.process (process.lua)  t.server (server.lua)  t.fcgi (fcgi.lua: raw records)
--   t.http (http.lua: curl)  t.front (front.lua: nginx, Apache, lighttpd)
--   t.load (load.lua: the load client)  t.scripted (scripted.lua: a server that says what it is told)
--
-- At the end, also after an error or a crash: what was spawned is killed and the folder
-- removed; a process that outlived its parent is a failed test.

local root = debug.getinfo(1, "S").source:sub(2):match("^(.*)/[^/]*$") or "."
local stdlib = require("posix.stdlib")
root = stdlib.realpath(root .. "/../..")
-- The servers under test are not on the path of an ordinary Debian user.
stdlib.setenv("PATH", os.getenv("PATH") .. ":/usr/local/sbin:/usr/sbin:/sbin")
package.path = package.path .. ";" .. root .. "/?.lua"

local process = require("process")
local unistd = require("posix.unistd")

local testing = {
    root = root,
    process = process,
    poll = process.poll,
    now = process.now,
    read_file = process.read_file,
    write_file = process.write_file,
}

local build = os.getenv("BUILD") or "build"
testing.build = build:sub(1, 1) == "/" and build or root .. "/" .. build

local count, failed, current = 0, 0, nil

local function line(good, name, directive)
    count = count + 1
    failed = failed + (good and 0 or 1)
    name = (current and current .. ": " or "") .. tostring(name or "")
    io.stdout:write(good and "ok " or "not ok ", count, " - ", (name:gsub("[#\n]", " ")),
        directive or "", "\n")
    io.stdout:flush()
    return good
end

function testing.note(text)
    for piece in (tostring(text) .. "\n"):gmatch("(.-)\n") do
        io.stdout:write("# ", #piece > 500 and piece:sub(1, 500) .. "..." or piece, "\n")
    end
end

function testing.ok(condition, name, why)
    if not line(condition and true or false, name) and why then
        testing.note(why)
    end
    return condition
end

local function show(value)
    if type(value) ~= "string" then
        return tostring(value)
    end
    local text = string.format("%q", #value > 300 and value:sub(1, 300) or value)
    return text:gsub("\\\n", "\\n") .. (#value > 300 and " (" .. #value .. " bytes)" or "")
end

function testing.is(got, wanted, name)
    local good = got == wanted
    line(good, name)
    if not good then
        testing.note("got:    " .. show(got))
        testing.note("wanted: " .. show(wanted))
    end
    return good
end

function testing.like(text, pattern, name)
    local good = type(text) == "string" and text:find(pattern) ~= nil
    line(good, name)
    if not good then
        testing.note("got:          " .. show(text))
        testing.note("wanted match: " .. pattern)
    end
    return good
end

function testing.skip(name, reason)
    line(true, name, " # SKIP " .. reason)
end

-- The Debian package of a program, where its name is another.
local PACKAGES = {
    ["nginx"] = "nginx-core", ["apache2"] = "apache2-bin", ["php-fpm*.*"] = "php-fpm",
    ["cgi-fcgi"] = "libfcgi-bin", ["ab"] = "apache2-utils", ["h2load"] = "nghttp2-client",
    ["ss"] = "iproute2", ["ip"] = "iproute2", ["cc"] = "gcc", ["pkg-config"] = "pkgconf", ["readelf"] = "binutils",
    ["setpriv"] = "util-linux", ["prlimit"] = "util-linux", ["dpkg-query"] = "dpkg", ["systemd-analyze"] = "systemd",
    ["luacheck"] = "lua-check",
}

function testing.path(program)
    return require("bench.suite.system.which").program(program)
end

function testing.has(program)
    return testing.path(program) ~= nil
end

function testing.missing(program)
    if not testing.has(program) then
        return ("%s is not installed (package %s)"):format((program:gsub("%*.*", "")), PACKAGES[program] or program)
    end
end

-- Names made inside carry <name>; an error inside becomes one failed test.
function testing.case(name, body)
    local outer = current
    current = (outer and outer .. ": " or "") .. name
    local good, message = xpcall(body, debug.traceback)
    if not good then
        line(false, "ended by an error")
        testing.note(message)
    end
    current = outer
end

local function temporary()
    local base = os.getenv("TMPDIR") or "/tmp"
    if #base > 60 then
        base = "/tmp" -- a socket path must stay below 108 bytes
    end
    return assert(stdlib.mkdtemp(base .. "/test-XXXXXX"))
end
testing.dir = temporary()

function testing.fixture(name)
    return (name:find("%.so$") and testing.build .. "/fixtures/" or root .. "/tests/fixtures/") .. name
end

function testing.each_engine(body)
    for _, engine in ipairs(testing.server.engines) do
        testing.case(engine, function()
            body(engine)
        end)
    end
end

function testing.free_port()
    local socket = require("posix.sys.socket")
    local fd = assert(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0))
    assert(socket.bind(fd, { family = socket.AF_INET, addr = "127.0.0.1", port = 0 }))
    local port = socket.getsockname(fd).port
    unistd.close(fd)
    return port
end

-- Ends what this test started; returns what was left by others' fault.
local function clean_up()
    for pid in pairs(process.spawned) do
        process.kill(pid, "TERM")
    end
    process.poll(5, function()
        for pid in pairs(process.spawned) do
            process.wait(pid, 0)
        end
        return not next(process.spawned)
    end)
    for pid in pairs(process.spawned) do
        testing.note(process.spawned[pid] .. " did not end by TERM")
        process.finish(pid, "KILL", 2)
    end
    local left = {}
    process.poll(1, function()
        left = {}
        for _, pid in ipairs(process.descendants(unistd.getpid())) do
            if process.state(pid) == "Z" then
                process.wait(pid, 0)
            else
                left[#left + 1] = pid
            end
        end
        return #left == 0
    end)
    local names = {}
    for _, pid in ipairs(left) do
        names[#names + 1] = pid .. " " .. tostring(process.command(pid))
        process.finish(pid, "KILL", 2)
    end
    return names
end

local ended = false
local function close_down()
    if ended then
        return {}
    end
    ended = true
    local left = clean_up()
    if os.getenv("KEEP") then
        testing.note("kept " .. testing.dir)
    else
        process.finish(process.spawn { "rm", "-rf", testing.dir }, "CONT", 10)
    end
    return left
end

-- Ends the test file: the plan, and the exit status.
function testing.done()
    current = nil
    local left = close_down()
    testing.ok(#left == 0, "no process is left behind", table.concat(left, "\n"))
    io.stdout:write("1..", count, "\n")
    io.stdout:flush()
    os.exit(failed == 0 and 0 or 1)
end

function testing.need(...)
    for _, program in ipairs { ... } do
        local reason = testing.missing(program)
        if reason then
            close_down()
            io.stdout:write("1..0 # SKIP ", reason, "\n")
            os.exit(0)
        end
    end
end

-- The test itself runs in a child, so that whatever ends it, even a crash, its
-- programs are ended and its folder is removed.
local signal = require("posix.signal")
local function supervise(child)
    signal.signal(signal.SIGTERM, signal.SIG_IGN) -- they reach the child, too: one process group
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    local how, code
    repeat
        how, code = process.wait(child, 3600)
    until how
    process.spawned = {}
    clean_up()
    if not os.getenv("KEEP") then
        process.run { "rm", "-rf", testing.dir }
    end
    os.exit(how == "exited" and code or 128 + (code or 0))
end

local child = assert(unistd.fork())
if child > 0 then
    supervise(child)
end
process.become_reaper()
signal.signal(signal.SIGPIPE, signal.SIG_IGN)

-- Parts are loaded when first used; they call back into this module.
package.loaded.testing = testing
setmetatable(testing, {
    __index = function(self, name)
        if name == "server" or name == "fcgi" or name == "http" or name == "front"
            or name == "scripted" or name == "load" then
            local part = require(name)
            rawset(self, name, part)
            return part
        end
    end,
})

return testing
