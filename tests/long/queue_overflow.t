#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The listen queue: its size is what was asked for and can be seen; a capped value
-- is warned about; overflow is counted as failures by the load client and named.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process
t.need("nginx", "ss")

local function queue_size(path)
    for line in process.run { "ss", "-Hlx" }.out:gmatch("[^\n]+") do
        if line:find(path, 1, true) then
            return tonumber(line:match("LISTEN%s+%d+%s+(%d+)"))
        end
    end
end

local function burst(backlog)
    local server = t.server.start { children = 2, arguments = { "--backlog", tostring(backlog) } }
    t.is(queue_size(server.socket), backlog, "the queue has the size asked for: " .. backlog)
    local front = t.front.nginx { fcgi = server.address, connections = 2048 }
    local report, result = load.run {
        "-n", 300, "-c", 300, front.url .. "/sleep?ms=20", timeout = 40,
    }
    front:stop()
    server:unchanged("after the burst on a queue of " .. backlog)
    server:stop()
    return report, result, front
end

local report, result = burst(511)
t.ok(report.requests.ok == 300, "300 at once on 2 children, queue of 511: no 502", load.summary(report, result))
local front
report, result, front = burst(8)
t.ok(report.requests.failed > 0 and report.requests.ok + report.requests.failed == 300 and load.closes(report),
    "on a queue of 8: the overflow is counted", load.summary(report, result))
t.ok(report.failures.status == report.requests.failed and report.status["5xx"] == report.requests.failed,
    "as answers of class 5xx, never as success", load.summary(report, result))
t.like(front:error_log(), "11: Resource temporarily unavailable", "nginx's log says why")

local somaxconn = tonumber(process.read_file("/proc/sys/net/core/somaxconn"))
local server = t.server.start { children = 1, arguments = { "--backlog", tostring(somaxconn * 2) } }
t.like(server:log_text(), "somaxconn", "a backlog over the kernel's limit is warned about")
t.is(queue_size(server.socket), somaxconn, "and the effective size is the limit")
local json = require("cjson").decode(server:get("/status?json").body)
t.is(json["listen queue len"], somaxconn, "which the status tells")
server:stop()
t.done()
