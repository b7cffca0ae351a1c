#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The slow log, with either engine: a slow request is named with its handler; where Lua
-- code is busy it is told while it runs, with the traceback. Quick requests are not there.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local script = process.write_file(t.dir .. "/busy.lua", [[
    local function burn(until_s)
        while os.clock() < until_s do end
    end
    return function(request)
        burn(os.clock() + 0.4)
        request:write("burnt")
    end
]])

t.each_engine(function(engine)
    local log = t.dir .. "/slow-" .. engine
    local server = t.server.start {
        engine = engine, children = 1, routes = { "/busy=" .. script },
        arguments = { "--slow-ms", "100", "--slow-log", log, "--lua-no-jit" },
    }
    t.is(server:get("/echo").status, 200, "a quick request")
    t.is(server:get("/sleep?ms=200").status, 200, "a slow handler in C")
    t.is(server:get("/busy?for=long").body, "burnt", "a busy handler in Lua goes on after it was told of")
    local text
    t.ok(process.poll(5, function()
        text = process.read_file(log) or ""
        return text:find("GET /sleep", 1, true) and text:find("GET /busy", 1, true)
    end), "both are in the log", text)
    t.like(text, "sleep%.so", "the C handler by its file")
    t.like(text, "busy%.lua:2 burn < ", "the Lua handler with the line that ran and its function")
    t.like(text, "< busy%.lua:5\n", "and who called it")
    t.ok(not text:find("/echo", 1, true), "the quick one is not", text)
    server:stop()
end)
t.done()
