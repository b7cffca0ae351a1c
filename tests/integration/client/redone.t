#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Failed is failed and answered is answered: nothing that the server may have executed is sent
-- again unless its method is idempotent, and an answer that has arrived is read before a request is
-- called failed. Over HTTP and FastCGI, TCP and unix sockets.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, load, process = t.fcgi, t.load, t.process

local function page(speaks_fcgi, status)
    if not speaks_fcgi then
        return "HTTP/1.1 " .. (status or "200 OK") .. "\r\nContent-Length: 5\r\n\r\nhello"
    end
    return fcgi.record(fcgi.STDOUT, 1, "Status: " .. (status or "200 OK") .. "\r\n\r\nhello")
        .. fcgi.record(fcgi.END, 1, ("\0"):rep(8))
end

local body = t.dir .. "/body"
process.write_file(body, "a=1")

-- Each connection answers one request; the server reads the second and then ends the connection by <how>.
local function second_is_lost(name, speaks_fcgi, unix, how, ...)
    local server = t.scripted.start {
        fcgi = speaks_fcgi,
        unix = unix and t.dir .. "/" .. name:gsub("%W", "-") .. ".sock",
        answer = function(_, _, place)
            if place.index == 1 then
                return page(speaks_fcgi)
            end
            return "", { close_first = true, reset = how == "reset" }
        end,
    }
    local report, result = load.run { "-n", 100, "-c", 5, "-k", server.url, ... }
    local counts = server:counts()
    server:stop()
    return report, counts, load.summary(report, result) .. " seen " .. counts.requests
end

for _, speaks_fcgi in ipairs { false, true } do
    for _, unix in ipairs { false, true } do
        for _, how in ipairs { "reset", "close" } do
            local name = (speaks_fcgi and "FastCGI" or "HTTP") .. (unix and ", unix" or ", TCP") .. ", " .. how
            local report, counts, note = second_is_lost(name .. " POST", speaks_fcgi, unix, how, "-p", body)
            t.ok(counts.requests == 100, name .. ": no POST that was read is sent again", note)
            t.ok(report.requests.ok + report.failures.receive == 100 and report.failures.receive >= 45 and report.events.redone == 0,
                name .. ": it has failed", note)
            report, counts, note = second_is_lost(name .. " custom", speaks_fcgi, unix, how, "-m", "CHARGE")
            t.ok(counts.requests == 100 and report.failures.receive >= 45, name .. ": nor one of an unknown method", note)
            report, _, note = second_is_lost(name .. " GET", speaks_fcgi, unix, how)
            t.ok(load.closes(report) and report.requests.ok + report.failures.receive == 100, name .. ": a GET has one outcome", note)
        end
    end
end

t.case("a reset after a GET is told", function()
    local report = second_is_lost("told", false, false, "reset")
    t.ok(report.events.redone > 0 and report.requests.ok > 50, "GETs are sent again", t.load.summary(report, { err = "" }))
    t.like(table.concat(report.notes, "; "), "sent again", "and the notes say so")
end)

-- An answer to the header, the rest of the body unread: closing then resets the connection.
local function early(speaks_fcgi, unix, size, keep)
    local big = t.dir .. "/big"
    process.write_file(big, ("x"):rep(size))
    local server = t.scripted.start {
        fcgi = speaks_fcgi,
        unix = unix and t.dir .. "/early" .. tostring(speaks_fcgi) .. size .. keep .. ".sock",
        whole = function(data)
            return #data > 100 and #data or nil
        end,
        answer = function()
            return page(speaks_fcgi, "413 Content Too Large"), { close = true }
        end,
    }
    local report, result = load.run { "-n", 100, "-c", 4, "-p", big, keep, server.url, timeout = 50 }
    server:stop()
    return report, load.summary(report, result)
end

for _, speaks_fcgi in ipairs { false, true } do
    for _, unix in ipairs { false, true } do
        for _, size in ipairs { 100000, 20000000 } do
            -- A server that keeps quiet about closing may reset the next request on a kept connection.
            for _, keep in ipairs(size > 100000 and { "-k", "-q" } or { "-q" }) do
                local report, note = early(speaks_fcgi, unix, size, keep)
                t.ok(report.failures.status == 100 and report.status["4xx"] == 100,
                    ("413 before the body was read, %s, %s, %d bytes, %s: each one is seen"):format(
                        speaks_fcgi and "FastCGI" or "HTTP", unix and "unix" or "TCP", size, keep), note)
            end
        end
    end
end

t.done()
