#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- request_timeout, with either engine. Lua that LuaJIT interprets is interrupted, and its
-- child replaced in good order; a compiled loop, like a C handler that does not return,
-- ends its child; the client gets 504 in every case, and the next request is served.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, process = t.fcgi, t.process

local script = t.process.write_file(t.dir .. "/loops.lua", [[
    local ways = {}
    function ways.clock() while os.clock() >= 0 do end end
    function ways.guarded() while true do pcall(ways.clock) end end
    function ways.closed() local n = 0 while true do n = n + 1 end end
    function ways.sleep(request) request:sleep(5000) request:write("slept") end
    function ways.half(request) request:write("half") ways.clock() end
    return function(request) ways[request:query("how")](request) end
]])

local function start(engine, ...)
    return t.server.start { engine = engine, children = 1, routes = { "/loop=" .. script },
        arguments = { "--request-timeout", "200ms", ... } }
end

local function limited(server, how)
    local begin = t.now()
    local answer = server:get("/loop?how=" .. how, { timeout = 10 })
    t.is(answer.status, 504, how .. ": 504")
    t.ok(answer.complete and not answer.body:find("loops"), how .. ": a neutral answer", answer.stdout)
    t.ok(t.now() - begin >= 0.2, how .. ": not before the limit")
end

local function interpreted(engine)
    local server = start(engine, "--lua-no-jit")
    for _, how in ipairs { "clock", "guarded", "closed", "half", "sleep" } do
        limited(server, how)
    end
    t.ok(t.poll(5, function() -- lines take their way through the master
        return server:log_text():find("loops%.lua:2: time limit exceeded")
    end), "the log names file and line", server:log_text())
    t.ok(not server:log_text():find("killed") and not server:log_text():find("did not return"),
        "no child had to be ended", server:log_text())
    server:unchanged("and on", { pids = false, log = { "time limit" } })
    server:stop()
end

local function compiled(engine)
    local server = start(engine)
    limited(server, "clock")
    limited(server, "closed")
    t.poll(5, function()
        return server:get("/hello?name=x").status == 200
    end)
    t.is(server:get("/hello?name=next").body, "<h1>Hello next</h1>", "the next request is served")
    server:stop()
end

local function any_handler(engine)
    local loop = t.dir .. "/loop.lua"
    process.write_file(loop, "return function() local n = 0 while true do n = n + 1 end end\n")
    local server = t.server.start {
        engine = engine, children = 2, routes = { "/loop=" .. loop },
        arguments = { "--request-timeout", "300ms", "--lua-no-jit", "--stop-timeout", "2s" },
    }
    local pids = table.concat(server:workers(), " ")
    local answer = fcgi.get(server.address, "/lua/sleep?ms=20000", { timeout = 10 })
    t.is(answer.status, 504, "a Lua request that waits too long")
    t.is(table.concat(server:workers(), " "), pids, "costs no child")

    answer = fcgi.get(server.address, "/loop", { timeout = 10 })
    t.is(answer.status, 504, "Lua code that runs too long is interrupted")

    answer = fcgi.get(server.address, "/sleep?ms=20000", { timeout = 10 })
    t.is(answer.status, 504, "the client of a C handler that does not return is answered, too")
    t.ok(process.poll(10, function()
        local now = server:workers()
        return #now == 2 and table.concat(now, " ") ~= pids
    end), "and its child replaced")
    t.is(server:get("/hello?name=x").body, "<h1>Hello x</h1>", "service goes on")
    server:stop()
end

t.each_engine(function(engine)
    interpreted(engine)
    compiled(engine)
    any_handler(engine)
end)
t.done()
