#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The load client knows where an answer ends: bodies without a length, answers
-- without a body, interim answers, and bodies that are cut short.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local load = t.load

local N = 100

local function check(name, wanted, answer, ...)
    local server = t.scripted.start { answer = answer }
    local start = t.now()
    local report, result = load.run { "-n", N, "-c", 4, "-k", server.url, ... }
    local seconds = t.now() - start
    t.ok(report.requests.ok == wanted and report.requests.failed == N - wanted and load.closes(report),
        name .. ": " .. wanted .. " ok", load.summary(report, result))
    t.ok(seconds < 5, name .. ": no waiting", seconds .. " s")
    t.is(server:counts().requests >= N, true, name .. ": the server saw every request")
    server:stop()
    return report
end

local function whole(text, options)
    return function()
        return text, options
    end
end

for _, version in ipairs { "1.1", "1.0" } do
    local report = check("HTTP/" .. version .. ", ended by closing, in 3 writes", N,
        whole({ "HTTP/" .. version .. " 200 OK\r\nConnection: close\r\n\r\nfirst ", "second ", "third" }, { close = true }))
    t.is(report.bytes and report.bytes.body, N * 18, "HTTP/" .. version .. ": every byte of the body is counted")
end
check("204 on a kept connection", N, whole("HTTP/1.1 204 No Content\r\n\r\n"))
check("204 with a length of 0", N, whole("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"))
check("304 with a length and no body", N, whole("HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\n\r\n"))
check("304 without a length", N, whole("HTTP/1.1 304 Not Modified\r\n\r\n"))
check("HEAD with a length of 1234", N, whole("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n"), "-i")
local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
local report = check("100, then 200", N, whole("HTTP/1.1 100 Continue\r\n\r\n" .. OK))
t.is(report.status["2xx"], N, "interim answers are no results")
check("103, then 200 in another write", N,
    whole { "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", OK })
check("two interim answers", N, whole("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" .. OK))
report = check("a length of 100, but 50 bytes, then closed", 0,
    whole("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" .. ("x"):rep(50), { close = true }))
t.is(report.failures.receive, N, "cut bodies are failures, not results")
check("chunked, in pieces", N, whole {
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=\"a\"\r\nhel", "lo\r", "\n6\r\n world\r\n0\r\nTrail: er\r\n", "\r\n",
})
check("chunked, cut short", 0,
    whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", { close = true }))
check("an empty body", N, whole("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
check("surplus bytes behind a body", 0, whole("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokSURPLUS"))
t.done()
