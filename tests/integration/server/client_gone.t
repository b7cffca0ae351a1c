#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A client that leaves in the middle of a large answer costs nothing: no process,
-- no descriptor, no memory, no flood of log lines.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, process = t.fcgi, t.process
t.need("nginx")

local TIMES = 100

local function rss(server)
    local sum = 0
    for _, pid in ipairs(server:workers()) do
        sum = sum + (process.rss_kib(pid) or 0)
    end
    return sum
end

local function leave_early(address, path)
    local c = assert(fcgi.connect(address))
    c:send(fcgi.request { path = path, keep = true })
    c:receive(5)
    c:reset()
end

local function leave_nginx(port, path)
    local c = assert(fcgi.connect("127.0.0.1:" .. port))
    c:receive_buffer(2048)
    c:send("GET " .. path .. " HTTP/1.1\r\nHost: localhost\r\n\r\n")
    c:receive(5)
    c:reset()
end

local function repeated(server, name, leave)
    leave() -- buffers grow once
    leave()
    server:mark()
    local before, lines = rss(server), select(2, server:log_text():gsub("\n", ""))
    for _ = 1, TIMES do
        leave()
    end
    server:unchanged(name .. ": same pids and descriptors")
    local grown = rss(server) - before
    -- A sanitizer keeps freed memory for a while.
    t.ok(grown < (os.getenv("SANITIZER") and 131072 or 8192), name .. ": memory stays", grown .. " KiB more")
    lines = select(2, server:log_text():gsub("\n", "")) - lines
    t.ok(lines <= TIMES + 5, name .. ": at most one log line each", lines .. " lines")
end

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 2 }
    local front = t.front.nginx {
        fcgi = server.address, location = "      fastcgi_max_temp_file_size 0;\n",
    }
    for _, path in ipairs { "/table?max=400", "/lua/table?max=400" } do
        t.case(path, function()
            repeated(server, "straight", function()
                leave_early(server.address, path)
            end)
            repeated(server, "through nginx", function()
                leave_nginx(front.port, path)
            end)
            local whole = server:get(path)
            t.ok(#whole.body > 1e6, "the page has more than 1 MB", #whole.body .. " bytes")
        end)
    end
    front:stop()
    server:stop()
end)
t.done()
