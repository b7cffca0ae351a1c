#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- /status in three formats, the control socket when every child is busy, the real
-- listen queue, /ping.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
local cjson = require("cjson")

local function ask(format)
    return process.run { t.server.program, "--status=" .. t.dir .. "/control", "--status-format=" .. format, timeout = 5 }
end

local PHP_FPM = { "pool", "process manager", "start time", "start since", "accepted conn", "listen queue",
    "max listen queue", "listen queue len", "idle processes", "active processes", "total processes",
    "max active processes", "max children reached", "slow requests" }
local PHP_FPM_FULL = { "pid", "state", "start time", "start since", "requests", "request duration",
    "request method", "request uri", "content length", "script" }

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 2, arguments = {
        "--control", t.dir .. "/control", "--pool", "test pool", "--backlog", "1234" } }
    t.is(server:get("/ping").body, "pong", "ping")
    local text = server:get("/status?full").body
    for _, name in ipairs(PHP_FPM) do
        t.ok(text:find("^" .. name .. ":", 1) or text:find("\n" .. name .. ":", 1, true), "text has " .. name)
    end
    local json = cjson.decode(server:get("/status?json&full").body)
    local missing = {}
    for _, name in ipairs(PHP_FPM) do
        missing[#missing + 1] = json[name] == nil and name or nil
    end
    for _, name in ipairs(PHP_FPM_FULL) do
        missing[#missing + 1] = json.processes[1][name] == nil and name or nil
    end
    t.is(table.concat(missing, ", "), "", "JSON has php-fpm's names")
    t.is(json.pool, "test pool", "the pool's name")
    t.is(json["total processes"], 2, "total processes")
    t.is(json["listen queue len"], 1234, "effective backlog")
    t.is(#json.processes, 2, "one entry for each child")
    local head = server:get("/status?openmetrics")
    t.is(head.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8", "type of OpenMetrics")
    t.like(head.body, "\nphpfpm_idle_processes %d+\n", "OpenMetrics has php-fpm's names")
    t.like(head.body, "\n# EOF\n$", "and its end")
    local names, doubled = {}, 0
    for name in head.body:gmatch("# TYPE (%S+)") do
        doubled = doubled + (names[name] and 1 or 0)
        names[name] = true
    end
    t.is(doubled, 0, "each family once")
    t.is(server:get("/status", { method = "HEAD" }).body, "", "HEAD has no body")

    local before = json["requests"]
    for _ = 1, 10 do
        server:get("/echo")
    end
    local control = cjson.decode(ask("json").out)
    t.is(control.requests - before, 10 + 3, "requests are counted, by every child")

    local busy = {}
    for index = 1, 6 do
        busy[index] = t.fcgi.connect(server.address)
        busy[index]:send(t.fcgi.request { path = "/sleep?ms=1500" })
    end
    local seen = process.poll(1.4, function()
        local answer = ask("json&full")
        local now = answer.status == 0 and cjson.decode(answer.out)
        return now and now["active processes"] == 2 and now["listen queue"] >= 1 and now
    end)
    t.ok(seen, "every child busy: the control socket tells, with the queue of a unix socket",
        ask("text").out)
    t.is(seen and seen.processes[1].state, "Running", "state of a busy child")
    t.like(seen and seen.processes[1]["request uri"], "^/sleep", "its request")
    for _, c in ipairs(busy) do
        c:answer(1, 5)
        c:close()
    end
    local slow = t.fcgi.connect(server.address)
    slow:send(t.fcgi.request { path = "/echo", keep = true })
    slow:answer(1, 3)
    t.ok(process.poll(3, function()
        local now = cjson.decode(ask("json").out)
        return (now["kept idle connections"] == 1 or engine == "libfcgi") and now["active processes"] == 0
    end), "a kept connection that is idle is no activity", ask("full").out)
    slow:close()
    server:unchanged()
    server:stop()
    local answer = ask("json")
    t.ok(answer.status == 111 and answer.err:find("control"), "no server: explained, status 111")
end)

t.case("TCP", function()
    local server = t.server.start { children = 1, address = "127.0.0.1:" .. t.free_port(),
        arguments = { "--control", t.dir .. "/control" } }
    local busy = {}
    for index = 1, 4 do
        busy[index] = t.fcgi.connect(server.address)
        busy[index]:send(t.fcgi.request { path = "/sleep?ms=1000" })
    end
    t.ok(process.poll(0.9, function()
        return cjson.decode(ask("json").out)["listen queue"] >= 1
    end), "the queue of a TCP socket", ask("text").out)
    for _, c in ipairs(busy) do
        c:answer(1, 5)
        c:close()
    end
end)
t.done()
