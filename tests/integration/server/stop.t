#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Stopping: quick when idle, complete answers for requests in flight, exit status
-- 0, and nothing left behind.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, process = t.fcgi, t.process
t.need("nginx")

-- A busy machine makes any stop longer, none shorter: if the quickest of a few is under a second,
-- nothing in it waits for one. The order of events is asserted each time.
local ATTEMPTS, AT_ONCE_S = 5, 1

local function at_once(engine, name, children, before)
    local quickest, order = math.huge, nil
    for _ = 1, ATTEMPTS do
        local server = t.server.start { engine = engine, children = children, arguments = { "--log-level", "info" } }
        local after = before(server)
        local how, code, seconds = server:stop(name)
        order = order or (how ~= "exited" or code ~= 0) and tostring(how) .. " " .. tostring(code)
            or server:stop_order(name, children)
        quickest = math.min(quickest, seconds)
        after(server)
        if quickest < AT_ONCE_S then
            break
        end
    end
    return quickest, order
end

local function idle(engine, name)
    local quickest, order = at_once(engine, name, 4, function(server)
        server:get("/echo")
        return function()
            t.ok(not require("posix.sys.stat").stat(server.socket), name .. ": the socket file is gone")
        end
    end)
    t.is(order, nil, name .. ": an idle pool ends in order, with status 0, no child told twice")
    t.ok(quickest < AT_ONCE_S, name .. " waits for no timer", ("quickest of %d: %.2f s"):format(ATTEMPTS, quickest))
end

local function twice(engine)
    local server = t.server.start { engine = engine, children = 2 }
    server:signal("TERM")
    server:signal("TERM")
    local how, code = process.wait(server.pid, 3)
    t.ok(how == "exited" and code == 0, "stopped twice in a row", tostring(how) .. " " .. tostring(code))
end

-- An idle connection that the front end keeps must not hold up the stop.
local function kept_idle(engine)
    local quickest, order = at_once(engine, "TERM", 2, function(server)
        local kept = {}
        for index = 1, 2 do
            kept[index] = fcgi.connect(server.address)
            kept[index]:send(fcgi.request { path = "/echo", keep = true })
            kept[index]:answer(1, 3)
        end
        return function()
            for _, c in ipairs(kept) do
                c:close()
            end
        end
    end)
    t.is(order, nil, "idle kept connections: the stop is in order")
    t.ok(quickest < AT_ONCE_S, "idle kept connections do not delay the stop", ("quickest: %.2f s"):format(quickest))
end

local function in_flight(engine, name, path, page)
    local server = t.server.start { engine = engine, children = 2 }
    local connections = {}
    for index = 1, 2 do
        connections[index] = fcgi.connect(server.address)
        connections[index]:send(fcgi.request { path = path })
    end
    process.pause(0.15) -- both requests have been read; a later stop is as good
    local start = t.now()
    server:signal(name)
    local whole = 0
    for _, c in ipairs(connections) do
        local answer = c:answer(1, 5)
        whole = whole + (answer.complete and answer.body == page and 1 or 0)
        c:close()
    end
    t.is(whole, 2, name .. ": requests in flight on " .. path .. " are completed")
    local how, code = process.wait(server.pid, 5)
    t.ok(how == "exited" and code == 0, name .. ": then status 0", tostring(how) .. " " .. tostring(code))
    t.ok(t.now() - start < 4, name .. ": without waiting for the stop timeout")
end

-- No request is accepted and then dropped: each gets a whole answer or no connection.
local function under_load(engine)
    local server = t.server.start { engine = engine, children = 2 }
    local lost, answered, refused = 0, 0, 0
    local stop_at = t.now() + 0.3
    local stopped = false
    while true do
        local c = fcgi.connect(server.address)
        if not c then
            refused = refused + 1
            if stopped and not process.alive(server.pid) then
                break
            end
            process.wait(server.pid, 0)
            process.pause(0.002)
        else
            local sent = c:send(fcgi.request { path = "/echo" })
            local answer = c:answer(1, 3)
            if answer.complete then
                answered = answered + 1
            elseif sent and #answer.records > 0 then
                lost = lost + 1
            end
            c:close()
        end
        if not stopped and t.now() >= stop_at then
            stopped = true
            server:signal("TERM")
        end
    end
    t.ok(lost == 0 and answered > 0, "under load: no answer is cut by the stop",
        answered .. " answered, " .. lost .. " cut, " .. refused .. " refused")
end

t.each_engine(function(engine)
    for _, name in ipairs { "TERM", "INT", "QUIT" } do
        idle(engine, name)
    end
    twice(engine)
    kept_idle(engine)
    in_flight(engine, "TERM", "/sleep?ms=600", "slept 600 ms\n")
    in_flight(engine, "QUIT", "/sleep?ms=600", "slept 600 ms\n")
    in_flight(engine, "TERM", "/lua/sleep?ms=600", "slept 600 ms\n")
    under_load(engine)
end)
t.done()
