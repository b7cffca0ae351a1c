#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- request_timeout and Lua: code that LuaJIT interprets is interrupted, and its child
-- is replaced in good order; a compiled loop ends its child; the client gets 504
-- either way, and the next request is served.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")

local script = t.process.write_file(t.dir .. "/loops.lua", [[
    local ways = {}
    function ways.clock() while os.clock() >= 0 do end end
    function ways.guarded() while true do pcall(ways.clock) end end
    function ways.closed() local n = 0 while true do n = n + 1 end end
    function ways.sleep(request) request:sleep(5000) request:write("slept") end
    function ways.half(request) request:write("half") ways.clock() end
    return function(request) ways[request:query("how")](request) end
]])

local function start(...)
    return t.server.start { engine = "event", children = 1, routes = { "/loop=" .. script },
        arguments = { "--request-timeout", "200ms", ... } }
end

local function limited(server, how)
    local begin = t.now()
    local answer = server:get("/loop?how=" .. how, { timeout = 10 })
    t.is(answer.status, 504, how .. ": 504")
    t.ok(answer.complete and not answer.body:find("loops"), how .. ": a neutral answer", answer.stdout)
    t.ok(t.now() - begin >= 0.2, how .. ": not before the limit")
end

t.case("interpreted", function()
    local server = start("--lua-no-jit")
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
end)

t.case("compiled", function()
    local server = start()
    limited(server, "clock")
    limited(server, "closed")
    t.poll(5, function()
        return server:get("/hello?name=x").status == 200
    end)
    t.is(server:get("/hello?name=next").body, "<h1>Hello next</h1>", "the next request is served")
    server:stop()
end)
t.done()
