#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The client's own waits never set a rate in silence: a server that leaves connections open, closes
-- them late, or refuses some.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, load = t.fcgi, t.load

local function page(speaks_fcgi)
    return speaks_fcgi and fcgi.record(fcgi.STDOUT, 1, "A: b\r\n\r\nhello") .. fcgi.record(fcgi.END, 1, ("\0"):rep(8))
        or "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
end

local function told(report)
    return table.concat(report.reasons or {}, "; ") .. "; " .. table.concat(report.notes or {}, "; ")
end

for _, speaks_fcgi in ipairs { false, true } do
    for _, unix in ipairs { false, true } do
        local name = (speaks_fcgi and "FastCGI" or "HTTP") .. (unix and " over a unix socket" or "")
        local server = t.scripted.start {
            fcgi = speaks_fcgi, unix = unix and t.dir .. "/" .. tostring(speaks_fcgi) .. ".sock",
            answer = function() return page(speaks_fcgi) end, -- and does not close
        }
        -- 20 ms for each answer would be 50 per second for each of two connections.
        local report, result = load.run { "-c", 2, "-d", "1s", server.url }
        t.ok(report.ok_per_s > 300 and load.closes(report), name .. ", left open: the wait sets no rate",
            tostring(report.ok_per_s) .. " " .. load.summary(report, result))
        t.like(told(report), "left %d+ connections open", name .. ", left open: it is told")
        t.ok(report.client_pauses_s.closing > 0.019 and report.client_pauses_s.closing < 0.2 and report.events.left_open > 300,
            name .. ", left open: and counted", tostring(report.client_pauses_s.closing))
        report, result = load.run { "-R", 150, "-c", 2, "-d", "1s", server.url }
        t.ok(report.requests.started >= 145 and report.requests.ok >= 140, name .. ", open loop: the rate is kept",
            told(report) .. load.summary(report, result))
        server:stop()
    end
end

-- Closes 12 ms after each answer: waited for, and the verdict says whose time that was.
local server = t.scripted.start {
    answer = function()
        return { page(), "" }, { pause = 0.012, close = true }
    end,
}
local report, result = load.run { "-c", 1, "-d", "1s", server.url }
server:stop()
t.ok(report.verdict == "suspect" and told(report):find("waiting for the server to close them %(1%d%.%d ms each"),
    "a server that closes late: told", told(report) .. load.summary(report, result))

-- A listen queue of one, over a unix socket: most connects are turned away at once, and the client pauses.
server = t.scripted.start {
    unix = t.dir .. "/full.sock", backlog = 0,
    answer = function()
        return page(), { delay = 0.02, close = true }
    end,
}
report, result = load.run { "-c", 10, "-d", "1s", server.url }
server:stop()
t.ok(report.failures.connect > 0 and report.client_pauses_s.backoff > 0.5, "refused connects: the pauses are counted",
    load.summary(report, result))
t.like(told(report), "pauses after failed connects", "and told")
t.done()
