#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Several threads of the load client: the sums agree in every kind of run. (On a build
-- with ThreadSanitizer this is what shows that they share nothing unguarded.)
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local load = t.load

local server = t.scripted.start {
    answer = function()
        return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    end,
}
for name, arguments in pairs {
    ["a number of requests, kept"] = { "-n", 2000, "-c", 32, "-j", 4, "-k" },
    ["a number that 4 does not divide"] = { "-n", 1003, "-c", 7, "-j", 4, "-k" },
    ["a time, fresh connections"] = { "-d", "1s", "-c", 16, "-j", 4 },
    ["an open loop"] = { "-d", "1s", "-R", 500, "-c", 16, "-j", 4, "-k" },
} do
    arguments[#arguments + 1] = server.url
    local report, result = load.run(arguments)
    t.ok(load.closes(report) and report.requests.failed == 0 and report.requests.ok > 50, name .. ": the sums agree",
        load.summary(report, result))
    t.ok(not result.err:find("ThreadSanitizer"), name .. ": no data race", result.err:sub(1, 2000))
    if arguments[1] == "-n" then
        t.is(report.requests.ok, arguments[2], name .. ": exactly as many")
    end
end
server:stop()
t.done()
