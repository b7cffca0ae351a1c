#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The load client reads headers as they occur: any case, spacing and cut; it states
-- its limit, and takes no illegal length.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local load = t.load

local function run(answer, n, ...)
    local server = t.scripted.start { answer = answer }
    local report, result = load.run { "-n", n, "-c", 2, "-k", "--timeout", "5s", server.url, ... }
    local counts = server:counts()
    server:stop()
    return report, result, counts
end

local function good(name, head, body)
    local report, result, counts = run(function()
        return "HTTP/1.1 200 OK\r\n" .. head .. "\r\n" .. (body or "hello")
    end, 20)
    t.ok(report.requests.ok == 20 and load.closes(report), name, load.summary(report, result))
    t.ok(counts.connections <= 2, name .. ": the connection is kept", counts.connections .. " connections")
end

good("content-length in small letters", "content-length: 5\r\n")
good("CONTENT-LENGTH in capitals", "CONTENT-LENGTH: 5\r\n")
good("no space after the colon", "Content-Length:5\r\n")
good("several spaces", "Content-Length:      5\r\n")
good("spaces behind the number", "Content-Length: 5   \r\n")
good("a tab before the number", "Content-Length:\t5\r\n")
good("X-Content-Length before the real one", "X-Content-Length: 999\r\nContent-Length: 5\r\n")
good("a header inside the body", "Content-Length: 17\r\n", "Content-Length: 9")
good("a header of 100 bytes", "X-A: " .. ("a"):rep(100) .. "\r\nContent-Length: 5\r\n")
good("a header of 16 kB", "X-A: " .. ("a"):rep(16384) .. "\r\nContent-Length: 5\r\n")

local text = "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\nX-B: b\r\n\r\nhello"
local report, result = run(function(n)
    return { text:sub(1, n), text:sub(n + 1) }
end, #text - 1, "-c", 1)
t.ok(report.requests.ok == #text - 1, "an answer cut at each of its bytes", load.summary(report, result))

report, result = run(function()
    return "HTTP/1.1 200 OK\r\nX-A: " .. ("a"):rep(200000) .. "\r\nContent-Length: 5\r\n\r\nhello"
end, 4)
t.ok(report.requests.ok == 0 and report.requests.failed == 4 and report.failures.protocol == 4,
    "a header of 200 kB is over the stated limit: failures, no hang", load.summary(report, result))
report, result = run(function()
    return "HTTP/1.1 200 OK\r\nX-A: " .. ("a"):rep(200000) .. "\r\nContent-Length: 5\r\n\r\nhello"
end, 4, "--max-header", 300000)
t.ok(report.requests.ok == 4, "with a higher limit it is read", load.summary(report, result))

-- Bare line feeds: RFC 9112 lets a recipient accept them; whichever, no hang.
report, result = run(function()
    return "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", { close = true }
end, 4)
t.ok(load.closes(report) and report.requests.ok + report.requests.failed == 4, "bare line feeds: an outcome, no hang",
    load.summary(report, result))

-- RFC 9110, section 8.6: a recipient may take a repeated equal value as one, or refuse it.
report, result = run(function()
    return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", { close = true }
end, 4)
t.ok(load.closes(report) and report.requests.ok % 4 == 0, "the same length twice: taken or refused, always alike",
    load.summary(report, result))

for name, length in pairs {
    negative = "-5", ["not a number"] = "five", ["two different"] = "5\r\nContent-Length: 6", ["with a sign"] = "+5",
    ["over 64 bits"] = "99999999999999999999999", hexadecimal = "0x5", ["a list"] = "5, 6",
} do
    report, result = run(function()
        return "HTTP/1.1 200 OK\r\nContent-Length: " .. length .. "\r\n\r\nhello", { close = true }
    end, 4)
    t.ok(report.requests.ok == 0 and report.requests.failed == 4, "a length that is " .. name .. " is a failure",
        load.summary(report, result))
end
for name, line in pairs {
    ["no HTTP at all"] = "SSH-2.0-OpenSSH_9.2\r\n", ["a status of 2 digits"] = "HTTP/1.1 20 OK\r\n\r\n",
    ["an empty line first, then nothing"] = "\r\n", ["NUL bytes"] = ("\0"):rep(100),
} do
    report, result = run(function()
        return line, { close = true }
    end, 4)
    t.ok(report.requests.ok == 0 and report.requests.failed == 4, name .. " is a failure",
        load.summary(report, result))
end
t.done()
