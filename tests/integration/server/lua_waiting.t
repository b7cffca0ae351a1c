#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- While Lua handlers wait, for time or for a socket, their child serves others;
-- one whose front end goes is ended; proxy.lua speaks to an application server.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, process = t.fcgi, t.process

local function listens(port)
    return process.poll(10, function()
        local connection = fcgi.connect("127.0.0.1:" .. port)
        if connection then
            connection:close()
        end
        return connection
    end)
end

-- The real application server; returns its port.
local function real_application()
    local port = t.free_port()
    process.spawn { t.root .. "/bench/pages/lua/app-server.lua", "127.0.0.1:" .. port }
    t.ok(listens(port), "the application server listens")
    return port
end

-- One that counts what it served, or does wrong what <how> says.
local function application(how)
    local port = t.free_port()
    local script = process.write_file(t.dir .. "/app-" .. port .. ".lua", [[
        local socket = require("posix.sys.socket")
        local unistd = require("posix.unistd")
        local listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        local port, how = tonumber(arg[1]), arg[2]
        assert(socket.bind(listener, { family = socket.AF_INET, addr = "127.0.0.1", port = port }))
        socket.listen(listener, 8)
        local served, connections = 0, -1 -- the first one only asks whether it listens
        while true do
            local peer = socket.accept(listener)
            connections = connections + 1
            repeat
                local line = socket.recv(peer, 200)
                local page = line and line:match("^GET (%g+)\n$")
                if page and how == "long" then
                    socket.send(peer, "99999999999\n")
                elseif page then
                    served = served + 1
                    local body = page .. " " .. connections .. " " .. served
                    socket.send(peer, #body .. "\n")
                    socket.send(peer, body)
                end
            until not page or how == "close"
            unistd.close(peer)
        end
    ]])
    process.spawn { "luajit", script, port, how }
    t.ok(listens(port), how .. ": it listens")
    return port
end

t.case("a thousand sleep in one child", function()
    local server = t.server.start { engine = "event", children = 1 }
    local run = process.run { t.build .. "/load-client", "-n", "1000", "-c", "1000", "-m", "GET",
        "--expect-length", "13", "fcgi+" .. server.address .. ":/lua/sleep", timeout = 50 }
    t.is(run.status, 0, "all 1000 answered", run.out .. run.err)
    -- One after the other they would take 400 s.
    local elapsed = tonumber(run.out:match("ok/s over ([%d.]+) s"))
    t.ok(elapsed and elapsed < 40, "at the same time", run.out)
    t.note(elapsed .. " s in all")
    server:unchanged("the same child")
    server:stop()
end)

t.case("a quick request passes a waiting one", function()
    local server = t.server.start { engine = "event", children = 1 }
    local slow = fcgi.connect(server.address)
    slow:send(fcgi.request { path = "/lua/sleep?ms=2000" })
    local start = t.now()
    for _ = 1, 20 do
        server:get("/lua/hello?name=x")
        server:get("/echo")
    end
    t.ok(t.now() - start < 1.9, "20 greetings meanwhile", t.now() - start .. " s")
    t.is(slow:answer(1, 10).body, "slept 2000 ms\n", "and the waiting one is answered")
    slow:close()
    server:stop()
end)

t.case("front ends that go", function()
    local server = t.server.start { engine = "event", children = 1 }
    local list = {}
    for index = 1, 50 do
        list[index] = fcgi.connect(server.address)
        list[index]:send(fcgi.request { path = "/lua/sleep?ms=50000" })
    end
    server:get("/echo")
    for _, connection in ipairs(list) do
        connection:close()
    end
    server:unchanged("50 waiting ones are ended, their descriptors closed")
    server:stop()
end)

t.each_engine(function(engine)
    local proxy = t.root .. "/handlers/proxy.lua"
    local routes = { "/none=" .. proxy .. ",127.0.0.1:1",
        "/real=" .. proxy .. ",127.0.0.1:" .. real_application() }
    for _, how in ipairs { "count", "close", "long" } do
        routes[#routes + 1] = "/" .. how .. "=" .. proxy .. ",127.0.0.1:" .. application(how)
    end
    local server = t.server.start { engine = engine, children = 1, routes = routes }
    local page = server:get("/real")
    t.like(page.body, "^<br /><p align='center'>Hello World from .*</p>$", "the page")
    t.like(page.headers["content-type"], "^text/html", "is HTML")
    t.is(server:get("/real?page=absent").status, 404, "a page that there is not")
    t.is(server:get("/real?page=a%0AGET+livecode").status, 404, "no second line can be smuggled in")
    t.is(server:get("/real").body, page.body, "and on")
    for index = 1, 3 do
        t.is(server:get("/count").body, "livecode 1 " .. index, "one kept connection serves all")
    end
    for index = 1, 3 do
        t.is(server:get("/close").body, ("livecode %d %d"):format(index, index), "it closes each time")
    end
    t.is(server:get("/long").status, 502, "an absurd length")
    t.is(server:get("/none").status, 502, "nobody there")
    t.ok(t.poll(5, function() -- lines take their way through the master
        return server:log_text():find("proxy.lua: application server 127.0.0.1:1: connect: Connection refused", 1, true)
    end), "the log says why", server:log_text())
    server:mark()
    for _ = 1, 20 do
        server:get("/count")
        server:get("/close")
    end
    server:unchanged("no descriptors are left over")
    server:stop()
end)
t.done()
