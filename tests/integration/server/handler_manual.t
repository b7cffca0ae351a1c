#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The handlers in the manual page are short, compile and run as they stand there;
-- the page names every function of the ABI and of the Lua API, and is well formed.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
t.need("cc", "mandoc")

local page = t.root .. "/fcgi-server/fcgi-handler.3"
local manual = process.read_file(page)

local function snippet(heading)
    local text = manual:match("%.Ss " .. heading .. "\n%.Bd [^\n]*\n(.-)%.Ed")
    local _, lines = text:gsub("\n", "")
    return text:gsub("\\e", "\\"), lines
end

local function lines_at_most(text, count, most)
    t.ok(text and count <= most, "at most " .. most .. " lines", tostring(count))
end

local source, source_lines = snippet("A handler in C")
lines_at_most(source, source_lines, 10)
process.write_file(t.dir .. "/hello.c", source)
local compiled = process.run { "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
    "-fvisibility=hidden", "-I", t.root .. "/fcgi-server", "-o", t.dir .. "/hello.so", t.dir .. "/hello.c",
    timeout = 30 }
t.is(compiled.status, 0, "the C handler compiles without a warning")
t.note(compiled.err)

local script, script_lines = snippet("A handler in Lua")
lines_at_most(script, script_lines, 5)
process.write_file(t.dir .. "/hello.lua", script)

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 1,
        routes = { "/c=" .. t.dir .. "/hello.so", "/l=" .. t.dir .. "/hello.lua" } }
    for _, path in ipairs { "/c", "/l", "/l/below" } do
        local answer = server:get(path, { method = "OPTIONS" })
        t.is(answer.body, "hello OPTIONS\n", path .. " answers")
        t.is(answer.headers["content-type"], "text/plain", path .. " says what it is")
    end
    server:unchanged("nothing was logged")
    server:stop()
end)

t.case("the manual page", function()
    local header = process.read_file(t.root .. "/fcgi-server/fcgi-handler.h")
    for name in header:gmatch("\n(fh_%w+)%(struct fh_request") do
        t.ok(manual:find((name == "fh_fail_at" and "fh_fail" or name), 1, true), "names " .. name)
    end
    for _, file in ipairs { "lua_request.c", "lua_socket.c" } do
        local methods = process.read_file(t.root .. "/fcgi-server/handler/" .. file):match("luaL_Reg methods.-};")
        for name in methods:gmatch('"(%w+)"') do
            local object = file == "lua_socket.c" and "socket:" or "request:"
            t.ok(manual:find(object .. name .. "(", 1, true), "names " .. object .. name)
        end
    end
    local lint = process.run { "mandoc", "-T", "lint", "-W", "warning", page, timeout = 10 }
    t.ok(not (lint.out .. lint.err):find("WARNING") and not (lint.out .. lint.err):find("ERROR"),
        "mandoc has nothing to warn of", lint.out)
end)
t.done()
