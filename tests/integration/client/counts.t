#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The load client's counts equal what the server saw, whatever the number of
-- requests and connections; other statuses never count as success.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local load = t.load

local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

for _, case in ipairs { { 1, 200 }, { 401, 400 }, { 10, 3 }, { 49, 50 }, { 7, 7 }, { 1000, 13 } } do
    local n, c = unpack(case)
    for _, keep in ipairs { "-k", "-l" } do
        local server = t.scripted.start {
            answer = function()
                return OK
            end,
        }
        local report, result = load.run { "-n", n, "-c", c, keep, server.url }
        local name = ("n=%d c=%d %s"):format(n, c, keep == "-k" and "kept" or "fresh")
        t.ok(server:counts().requests == n and report.requests.ok == n and report.requests.started == n
            and report.requests.in_flight == 0, name .. ": exactly n", server:counts().requests .. " seen, "
            .. load.summary(report, result))
        t.is(result.status, 0, name .. ": status 0")
        server:stop()
    end
end

local server = t.scripted.start {
    answer = function()
        return OK, { delay = 0.002 }
    end,
}
local report, result = load.run { "-d", "1s", "-c", 10, "-k", server.url }
local seen = server:counts().requests
server:stop()
t.ok(load.closes(report), "timed run: the sums agree", load.summary(report, result))
local missing = seen - report.requests.ok - report.requests.failed
t.ok(missing >= 0 and missing <= 10 and report.requests.in_flight >= missing and report.requests.in_flight <= 10,
    "timed run: what was not answered is told as in flight", missing .. " missing; " .. load.summary(report, result))
t.ok(report.elapsed_s >= 0.99 and report.elapsed_s < 3, "timed run: ends in time", tostring(report.elapsed_s))

local statuses = { "200 OK", "302 Found", "404 Not Found", "500 Internal Server Error" }
server = t.scripted.start {
    answer = function(n)
        return "HTTP/1.1 " .. statuses[(n - 1) % 4 + 1] .. "\r\nContent-Length: 2\r\n\r\nok"
    end,
}
report, result = load.run { "-n", 400, "-c", 4, "-k", server.url }
server:stop()
for _, class in ipairs { "2xx", "3xx", "4xx", "5xx" } do
    t.is(report.status[class], 100, "100 answers of class " .. class)
end
t.ok(report.requests.ok == 100 and report.failures.status == 300, "only 200 is success", load.summary(report, result))
t.is(result.status, 3, "some failed: status 3")

server = t.scripted.start {
    answer = function(n)
        local body = ("x"):rep(n * 7919 % 100)
        return "HTTP/1.1 200 OK\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
    end,
}
report, result = load.run { "-n", 200, "-c", 4, "-k", "-l", server.url }
t.ok(report.requests.ok == 200, "bodies of any length, when told so: no failures", load.summary(report, result))
report, result = load.run { "-n", 200, "-c", 4, "-k", server.url }
t.ok(report.failures.length > 150 and load.closes(report), "not told so, they are failures of length",
    load.summary(report, result))
server:stop()

-- No nan, no inf, whatever happened.
local port = t.free_port()
for _, format in ipairs { "text", "json", "csv", "ab", "siege" } do
    result = t.process.run { load.program, "-q", "-f", format, "-n", 3, "-c", 2, "http://127.0.0.1:" .. port .. "/" }
    local text = result.out:lower()
    t.ok(result.status == 2 and not text:find("%f[%a]nan%f[%A]") and not text:find("%f[%a]inf%f[%A]"),
        "nobody listens, format " .. format .. ": no nan, status 2", tostring(result.status) .. "\n" .. result.out)
end
t.done()
