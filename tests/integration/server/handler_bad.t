#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A handler that cannot be loaded stops the start with one message that names the
-- file and the reason; a wrong descriptor 0 is explained; nothing spins.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
t.need("spawn-fcgi", "curl")

local function refused(engine, name, handler, reason)
    local start = t.now()
    local server, failure = t.server.try {
        engine = engine, config = false, routes = { "/x=" .. handler }, children = 2,
    }
    t.ok(not server and failure.status == 100, name .. ": exit status 100",
        failure and tostring(failure.status) .. " " .. failure.err)
    if server then
        server:stop()
        return
    end
    t.ok(t.now() - start < 5, name .. ": within 5 s", t.now() - start .. " s")
    t.ok(failure.err:find(handler:match("[^/,]+%.%a+"), 1, true) and failure.err:find(reason),
        name .. ": names the file and the reason", failure.err)
    t.ok(#failure.err < 2000, name .. ": one short message", failure.err)
end

local function bad_handlers(engine)
    refused(engine, "undefined symbol", t.fixture("bad_symbol.so"), "nobody_defines_this")
    refused(engine, "missing file", t.dir .. "/absent.so", "[Nn]o such file")
    refused(engine, "constructor aborts", t.fixture("bad_constructor.so"), "signal 6")
    refused(engine, "other interface version", t.fixture("bad_abi.so"), "999")
    refused(engine, "no handler in it", t.fixture("bad_export.so"), "fcgi_handler")
    refused(engine, "init refuses", t.fixture("bad_init.so") .. ",Bob", "no license for Bob")
    refused(engine, "syntax error in Lua", t.fixture("syntax.lua"), "syntax%.lua:%d+")
    refused(engine, "missing Lua file", t.dir .. "/absent.lua", "[Nn]o such file")
    local not_elf = process.write_file(t.dir .. "/text.so", (("this is no shared object\n"):rep(50)):rep(10))
    refused(engine, "no shared object", not_elf, "ELF")
end

local function descriptor_zero(engine)
    local read_end, write_end = require("posix.unistd").pipe()
    local rows = {
        { "/dev/null", "/dev/null" },
        { "a pipe", read_end },
        { "an ordinary file", process.write_file(t.dir .. "/file", "text") },
    }
    for _, row in ipairs(rows) do
        local start = t.now()
        local result = process.run {
            t.server.program, "-n", "0", "-e", engine, "-c", t.root .. "/conf/fcgi-server.lua",
            stdin = row[2], timeout = 5, env = { LISTEN_FDS = false },
        }
        local lines = select(2, result.err:gsub("\n", ""))
        t.ok(result.status == 100 and lines <= 3 and result.err:find("spawn%-fcgi"),
            "descriptor 0 is " .. row[1] .. ": explained, status 100",
            tostring(result.status) .. " " .. result.err)
        t.ok(t.now() - start < 2, "descriptor 0 is " .. row[1] .. ": at once")
    end
    local closed = process.run {
        "sh", "-c", 'exec "$0" -n 0 -e "$1" -r /x=echo.so 0<&-', t.server.program, engine, timeout = 5,
    }
    t.ok(closed.status == 100 and closed.err ~= "", "descriptor 0 is closed: explained, status 100",
        tostring(closed.status) .. " " .. closed.err)
    require("posix.unistd").close(read_end)
    require("posix.unistd").close(write_end)
end

-- Two versions of a page that differ in their argument only.
local function replaced(engine)
    local handler = t.dir .. "/page-" .. engine .. ".so"
    local function copy()
        process.run { "cp", t.build .. "/handlers/echo.so", handler .. ".new" }
    end
    copy()
    os.rename(handler .. ".new", handler)
    local server = t.server.start {
        engine = engine, children = 2, routes = { "/page=" .. handler .. ",version one" },
    }
    for _ = 1, 20 do
        copy()
        os.rename(handler .. ".new", handler)
        server:get("/page")
    end
    t.is(server:get("/page").body, "version one", "replaced by a new file: the loaded one goes on")
    server:unchanged("replaced by a new file: no child died")
    process.run { "sh", "-c", 'cat "$0" > "$1"', t.build .. "/handlers/hello.so", handler }
    for _ = 1, 10 do
        server:get("/page", { timeout = 2 })
    end
    t.ok(process.poll(5, function()
        return server:get("/ping", { timeout = 2 }).status == 200
    end), "overwritten in place: the pool recovers")
    local how = server:stop("TERM")
    t.is(how, "exited", "and it can be stopped")
end

-- init() runs in the check, as the user whom it will serve as: an error names him.
if require("posix.unistd").getuid() == 0 then
    local script = process.write_file(t.dir .. "/needs.lua",
        'return {handle = print, init = function() error("unable to open database file") end}\n')
    process.run { "chmod", "755", t.dir }
    for _, arguments in ipairs { { "-t" }, {} } do
        local words = { t.server.program, "-l", "unix:" .. t.dir .. "/init.sock", "-r", "/x=" .. script, "-u", "nobody", timeout = 20 }
        words[#words + 1] = arguments[1]
        local result = process.run(words)
        t.is(result.status, 100, "init() fails" .. (arguments[1] and " in the check" or ""))
        t.like(result.err, "needs%.lua:1: unable to open database file; route of %-r; loaded as user 'nobody'\n$",
            "the error names file, line, route and user")
    end
end

t.each_engine(function(engine)
    bad_handlers(engine)
    descriptor_zero(engine)
    replaced(engine)
end)
t.done()
