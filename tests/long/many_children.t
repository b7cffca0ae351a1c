#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- 1,024 children: all get ready, each has at most 300 KiB of memory to itself, a
-- request wakes one of them and not the herd, and they stop in good order.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local NUMBER = 1024
local conf = process.write_file(t.dir .. "/conf.lua", [[
status_path = "/status"
ping_path = "/ping"
route("/echo", "echo.so", "hello world\n")
route("/hello", "hello.so")
route("/sleep", "sleep.so")
route("/table", "table.so")
]])

local function private_kib(pid)
    local sum = 0
    for value in (process.read_file("/proc/" .. pid .. "/smaps_rollup") or ""):gmatch("Private_%a+:%s+(%d+)") do
        sum = sum + tonumber(value)
    end
    return sum
end

local function switches(pids)
    local sum = 0
    for _, pid in ipairs(pids) do
        sum = sum + tonumber((process.read_file("/proc/" .. pid .. "/status") or ""):match("\nvoluntary_ctxt_switches:%s+(%d+)") or 0)
    end
    return sum
end

t.each_engine(function(engine)
    local start = t.now()
    local server = t.server.start { engine = engine, children = NUMBER, config = conf, ready_s = 120,
        arguments = { "--handlers-dir", t.build .. "/handlers" } }
    t.note(("%s: %d children ready after %.2f s"):format(engine, NUMBER, t.now() - start))
    local workers = server:workers()
    t.is(#workers, NUMBER, "all children serve")
    local most = 0
    for index = 1, NUMBER, 32 do
        most = math.max(most, private_kib(workers[index]))
    end
    t.ok(most > 0 and most <= 300, "at most 300 KiB of private memory each", most .. " KiB")
    t.note(engine .. ": at most " .. most .. " KiB of private memory")

    server:get("/echo")
    process.pause(0.5)
    local REQUESTS = 200
    local idle = switches(workers)
    process.pause(0.5)
    local before = switches(workers)
    local background = before - idle
    local good = 0
    for _ = 1, REQUESTS do
        good = good + (server:get("/echo").body == "hello world\n" and 1 or 0)
    end
    local per_request = (switches(workers) - before - background) / REQUESTS
    t.is(good, REQUESTS, "requests are answered")
    -- Waiting for the connection, for its bytes and for its end is one of each.
    t.ok(per_request <= 10, "a request wakes one child, not the herd", per_request .. " switches for each")
    t.note(("%s: %.1f voluntary switches for each request"):format(engine, per_request))
    server:signal("HUP")
    t.ok(process.poll(120, function()
        return select(2, server:log_text():gsub("ready: 1024", "")) == 2 and #server:workers() == NUMBER
    end), "a reload replaces all of them", #server:workers())
    t.is(server:get("/hello?name=x").body, "<h1>Hello x</h1>", "and they answer")
    local how, code = server:stop("TERM", 60)
    t.ok(how == "exited" and code == 0, "stop in good order", tostring(how))
end)
t.done()
