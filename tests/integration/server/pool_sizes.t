#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The number of children: static with TTIN and TTOU, dynamic, ondemand.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
local cjson = require("cjson")

local function status(server)
    local answer = server:get("/status?json", { timeout = 5 })
    return answer.body and cjson.decode(answer.body) or {}
end

local function count(server, wanted, seconds)
    return process.poll(seconds or 5, function()
        return #server:workers() == wanted
    end)
end

-- Starts <number> requests that take <ms>; returns the connections.
local function keep_busy(server, number, ms)
    local busy = {}
    for index = 1, number do
        busy[index] = t.fcgi.connect(server.address)
        busy[index]:send(t.fcgi.request { path = "/sleep?ms=" .. ms })
    end
    return busy
end

local function all_answered(busy)
    for _, c in ipairs(busy) do
        if not c:answer(1, 10).complete then
            return false
        end
        c:close()
    end
    return true
end

t.case("static", function()
    local server = t.server.start { children = 2 }
    server:signal("TTIN")
    t.ok(count(server, 3), "TTIN adds a child")
    t.is(status(server)["max children"], 3, "the status knows")
    local busy = keep_busy(server, 3, 500)
    process.pause(0.1)
    server:signal("TTOU")
    t.ok(all_answered(busy), "TTOU loses no request")
    t.ok(count(server, 2), "TTOU retires a child")
    for _ = 1, 5 do
        server:signal("TTOU")
        process.pause(0.02)
    end
    t.ok(count(server, 1), "the last one stays")
    t.is(server:get("/echo").status, 200, "and answers")
    server:stop()
end)

t.case("dynamic", function()
    local server = t.server.start {
        children = 6, arguments = { "--pm", "dynamic", "--min-spare", "1", "--max-spare", "2" },
    }
    t.is(#server:workers(), 1, "starts between the spares")
    local busy = keep_busy(server, 6, 2500)
    t.ok(count(server, 6, 8), "grows to max_children while all are busy", #server:workers())
    t.ok(all_answered(busy), "every request is answered")
    t.ok(process.poll(8, function()
        return server:log_text():find("too low")
    end), "says that max_children was reached")
    t.ok(process.poll(10, function()
        return #server:workers() <= 2
    end), "shrinks to max_spare, one in a second", #server:workers())
    t.ok(status(server)["max children reached"] >= 1, "the status counts it")
    server:stop()
end)

t.case("ondemand", function()
    local server = t.server.start {
        children = 3, arguments = { "--pm", "ondemand", "--idle-timeout", "1s" },
    }
    t.is(#server:workers(), 0, "starts with none")
    t.is(server:get("/hello?name=x", { timeout = 5 }).body, "<h1>Hello x</h1>", "the first request is answered")
    t.is(#server:workers(), 1, "by one child")
    local busy = keep_busy(server, 3, 600)
    t.ok(count(server, 3, 5), "waiting work starts more", #server:workers())
    t.ok(all_answered(busy), "all are answered")
    t.ok(count(server, 0, 10), "all end when idle", #server:workers())
    local kept = t.fcgi.connect(server.address)
    kept:send(t.fcgi.request { path = "/echo", keep = true })
    t.ok(kept:answer(1, 5).complete, "a kept connection is served")
    t.ok(count(server, 0, 10), "and does not hold the last child", #server:workers())
    kept:close()
    t.is(server:get("/echo", { timeout = 5 }).status, 200, "and they come again")
    local how, code = server:stop()
    t.ok(how == "exited" and code == 0, "stops in good order")
end)

-- Each child takes one request, which goes on: its place is filled at once, not by the
-- master's next look at everything, a second later.
t.case("retiring children that still work", function()
    local server = t.server.start { engine = "event", children = 1, arguments = { "--max-requests", "1" } }
    local waiting = {}
    for index = 1, 10 do
        waiting[index] = t.fcgi.connect(server.address)
        waiting[index]:send(t.fcgi.request { path = "/lua/sleep?ms=30000" })
    end
    local start = process.now()
    t.is(server:get("/echo", { timeout = 20 }).status, 200, "the request behind ten of them is answered")
    local seconds = process.now() - start
    t.ok(seconds < 6, "in less than the ten seconds of ten looks", seconds)
    for _, c in ipairs(waiting) do
        c:close()
    end
    server:stop("TERM", 5)
end)
t.done()
