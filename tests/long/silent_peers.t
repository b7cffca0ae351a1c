#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Peers that hold a connection: after a whole answer, without a byte, or in the
-- middle of a record. Service through nginx goes on for others.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, process = t.fcgi, t.process
t.need("nginx", "curl")

local CHILDREN = 3
local SECONDS = tonumber(os.getenv("SILENT_S") or (os.getenv("SHORT") and 8 or 20))

local holders = {
    ["read the whole answer and stay"] = function(c)
        c:send(fcgi.request { path = "/echo", keep = true })
        c:answer(1, 5)
    end,
    ["read the whole answer of a connection that was to end, and stay"] = function(c)
        c:send(fcgi.request { path = "/echo" })
        c:answer(1, 5)
    end,
    ["connect and send nothing"] = function() end,
    ["send one byte and stop"] = function(c)
        c:send("\1")
    end,
    ["send half a body and stop"] = function(c)
        local params = fcgi.params("/echo", { method = "POST", body = ("b"):rep(1000) })
        c:send(fcgi.begin(1, { keep = true }) .. fcgi.stream(fcgi.PARAMS, 1, fcgi.encode_params(params))
            .. fcgi.record(fcgi.STDIN, 1, ("b"):rep(1000)):sub(1, 400))
    end,
    ["ask for a large page and read nothing"] = function(c)
        c:send(fcgi.request { path = "/table?max=999", keep = true })
    end,
}

local function hold(engine, name, act)
    local server = t.server.start {
        engine = engine, children = CHILDREN, arguments = { "--read-timeout", "4s" },
    }
    local front = t.front.nginx { fcgi = server.address, keepalive = 2 }
    local before = 0
    for _, pid in ipairs(server:workers()) do
        before = before + process.cpu_ms(pid)
    end
    local held = {}
    for index = 1, CHILDREN do
        held[index] = assert(fcgi.connect(server.address))
        act(held[index])
    end
    local start, slowest, bad, back = t.now(), 0, 0, nil
    while t.now() - start < SECONDS do
        local answer = front:get("/hello?name=x", { timeout = 8 })
        if answer.body == "<h1>Hello x</h1>" then
            back = back or t.now() - start
            if t.now() - start > 8 then
                slowest = math.max(slowest, answer.seconds)
            end
        else
            bad = bad + 1
        end
        process.pause(0.5)
    end
    -- What stops in the middle holds an engine that serves one connection at a time, and any
    -- child that writes to it, for the documented read timeout (4 s here).
    local bounded = name:find("^send") and engine == "libfcgi" or name:find("read nothing")
    t.ok(back and back < (bounded and 6 or 3.5), name .. ": service is back in time",
        tostring(back) .. " s, " .. bad .. " failures")
    t.ok(slowest < 1, name .. ": and then answers are quick", slowest .. " s")
    local used = -before
    for _, pid in ipairs(server:workers()) do
        used = used + process.cpu_ms(pid)
    end
    t.ok(used < 1500, name .. ": no spin", used .. " ms of CPU time")
    for _, c in ipairs(held) do
        c:close()
    end
    front:stop()
    server:unchanged(name .. ": afterwards", { fd_s = 5 })
    server:stop()
end

t.each_engine(function(engine)
    for name, act in pairs(holders) do
        t.case(name, function()
            hold(engine, name, act)
        end)
    end
end)
t.done()
