#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- --queue-deadline: a request that waited longer, by the time in REQUEST_START, gets 503; one that
-- waited less is never refused, however full the queue; a text that is no time switches the deadline
-- off for that request, with one warning.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi = require("fcgi")
local socket = require("posix.sys.time")

local function wall()
    local now = socket.gettimeofday()
    return now.tv_sec + now.tv_usec / 1e6
end

local function params(path, start)
    local list = fcgi.params(path)
    list[#list + 1] = start and { "REQUEST_START", start } or nil
    return list
end

local function ask(server, start)
    return fcgi.get(server.address, "/echo", { params = params("/echo", start) })
end

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 1, arguments = { "--queue-deadline", "2s" } }
    local now = wall()
    for _, form in ipairs {
        { "seconds", "%.3f", 1 }, { "t= and seconds", "t=%.3f", 1 }, { "milliseconds", "%.0f", 1e3 },
        { "microseconds", "%.0f", 1e6 }, { "t= and microseconds", "t=%.0f", 1e6 },
    } do
        local name, format, factor = unpack(form)
        local late = ask(server, format:format((now - 10) * factor))
        t.is(late.status, 503, "10 s ago in " .. name .. ": refused")
        t.is(late.headers["retry-after"], "1", "with Retry-After")
        t.is(ask(server, format:format(wall() * factor)).status, 200, "now in " .. name .. ": served")
    end
    t.ok(not server:log_text():find("queue_deadline"), "times are believed without a word", server:log_text())
    for _, text in ipairs { "12abc", "0x10", "1", ("%.3f"):format(now + 5), ("%.3f"):format(now - 200000), "-5", "now" } do
        t.is(ask(server, text).status, 200, "no time: '" .. text .. "' is served")
    end
    local _, count = server:log_text():gsub("queue_deadline is off for requests whose REQUEST_START is like '12abc'", "")
    t.is(count, 1, "with one warning", server:log_text())
    t.is(ask(server, nil).status, 200, "without REQUEST_START: served")
    t.is(ask(server, "").status, 200, "an empty one: served")
    server:unchanged()
    server:stop()
end)

-- A queue that is never empty, each request in it for some tens of milliseconds: nobody is refused.
t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 1, arguments = { "--queue-deadline", "1s" } }
    local waiting, refused, served = {}, 0, 0
    local function open()
        local connection = fcgi.connect(server.address)
        connection:send(fcgi.request { params = params("/sleep?ms=10", ("%.3f"):format(wall())) })
        waiting[#waiting + 1] = connection
    end
    for _ = 1, 8 do
        open()
    end
    local ends = t.now() + 3
    while #waiting > 0 do
        local connection = table.remove(waiting, 1)
        local status = connection:answer(1, 10).status
        served, refused = served + (status == 200 and 1 or 0), refused + (status ~= 200 and 1 or 0)
        connection:close()
        if t.now() < ends then
            open()
        end
    end
    t.ok(refused == 0 and served > 50, "three deadlines of a full queue with short waits: none refused",
        served .. " served, " .. refused .. " refused")
    server:stop()
end)
t.done()
