#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Whatever a server does, in any mixture, the load client ends in time, its accounting closes, it
-- starts exactly what it was asked to, and it never reports more successes than were served.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, load = t.fcgi, t.load

local function http(body, head)
    return "HTTP/1.1 200 OK\r\n" .. (head or "") .. "Content-Length: " .. #body .. "\r\n\r\n" .. body
end

local GOOD = { [false] = http("hello"), [true] = fcgi.record(fcgi.STDOUT, 1, "A: b\r\n\r\nhello")
    .. fcgi.record(fcgi.END, 1, ("\0"):rep(8)) }

-- What can go wrong: a function of the good bytes -> answer, options.
local mishaps = {
    function(good) return good:sub(1, #good - 2), { close = true } end,
    function(good) return good .. "surplus" end,
    function(good) return good .. good end,
    function() return "garbage\r\n\r\n", { close = true } end,
    function() return "", { close_first = true } end,
    function() return "", { reset = true, close_first = true } end,
    function(good) return good, { reset = true } end,
    function(good) return good, { close = true } end,
    function(good) return { good:sub(1, 1), good:sub(2, 9), good:sub(10) } end,
    function() return "", { silent = true } end,
    function(good) return (good:gsub("hello", "jello")) end,
    function() return ("x"):rep(3000), { close = true } end,
}

local function run(speaks_fcgi, unix, ...)
    local good, served = GOOD[speaks_fcgi], t.dir .. "/served"
    t.write_file(served, "")
    local server = t.scripted.start {
        fcgi = speaks_fcgi,
        unix = unix and t.dir .. "/" .. tostring(speaks_fcgi) .. unix .. ".sock",
        answer = function(n)
            -- A mishap every fourth time; a multiplicative hash of n says which.
            local dice = (n * 2654435761) % 4294967296
            if dice % 4 ~= 0 then
                return good
            end
            return mishaps[math.floor(dice / 4) % #mishaps + 1](good)
        end,
    }
    local report, result = load.run { "-s", "250ms", "--connect-timeout", "2s", server.url, timeout = 50, ... }
    local counts = server:counts()
    server:stop()
    return report, result, counts
end

local number = 0
for _, speaks_fcgi in ipairs { false, true } do
    for _, unix in ipairs { false, true } do
        for _, form in ipairs { { "-n", 200, "-c", 10, "-k" }, { "-n", 200, "-c", 10, "-j", 2 }, { "-R", 300, "-d", "700ms", "-c", 10, "-k" } } do
            number = number + 1
            local report, result, counts = run(speaks_fcgi, unix and number, unpack(form))
            local name = (speaks_fcgi and "FastCGI" or "HTTP") .. (unix and " over a unix socket: " or ": ") .. table.concat(form, " ")
            t.ok(load.closes(report), name .. ": the accounting closes", load.summary(report, result))
            t.ok(form[1] ~= "-n" or (report.requests.started == 200 and report.requests.in_flight == 0),
                name .. ": all were started and ended", load.summary(report, result))
            t.ok(report.requests.ok > 0 and report.requests.failed > 0 and report.requests.ok <= counts.requests and result.status == 3,
                name .. ": failures and successes, no more than were served", load.summary(report, result))
        end
    end
end

t.done()
