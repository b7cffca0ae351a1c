#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Recorded logs, counters and results of the load client are given their cause by name.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local classify = require("bench.suite.analysis.classify")

-- tests/fixtures/nginx-upstream-failures.log: nginx 1.22.1 against upstreams that fail on purpose,
-- one location for each way of failing; the request's path says which.
local WANTED = {
    premature = "child_died", http = "wrong_protocol", nohdr = "incomplete_answer", bighdr = "header_too_big",
    short = "incomplete_answer", err = "handler_errors", inval = "invalid_header", badid = "wrong_protocol",
    hang = "children_starved", stale = "nobody_listening", denied = "socket_permission",
    missing = "socket_missing",
}
local recorded = t.read_file(t.root .. "/tests/fixtures/nginx-upstream-failures.log")
local seen = {}
for line in recorded:gmatch("[^\n]+") do
    local path = line:match('"GET /(%w+) ')
    if WANTED[path] then
        seen[path] = true
        t.is(classify.line(line), WANTED[path], "nginx's line for /" .. path)
    end
end
for path in pairs(WANTED) do
    t.ok(seen[path], "the recording has a line for /" .. path)
end
local counts = classify.log(recorded)
t.is(counts.accept_queue_full.count, 3, "three connections were refused by a full accept queue")
t.is(counts.children_starved.count, 2, "two requests waited until the time-out")
t.is(counts.unknown, nil, "every recorded line has a name")
t.like(counts.accept_queue_full.first, "Resource temporarily unavailable", "the first line is kept as evidence")

local TEXTS = {
    worker_connections = "2026/01/01 00:00:00 [alert] 1#1: 256 worker_connections are not enough",
    temporary_files = "2026/01/01 00:00:00 [warn] 1#1: *1 an upstream response is buffered to a temporary file /t/1",
    client_aborted = "2026/01/01 00:00:00 [info] 1#1: *1 client prematurely closed connection, so upstream connection is closed too",
    no_live_upstreams = "2026/01/01 00:00:00 [error] 1#1: *1 no live upstreams while connecting to upstream",
    connection_reset = "2026/01/01 00:00:00 [error] 1#1: *1 recv() failed (104: Connection reset by peer) while reading response header from upstream",
    connect_timeout = "2026/01/01 00:00:00 [error] 1#1: *1 upstream timed out (110: Connection timed out) while connecting to upstream",
    children_all_busy = "[01-Jan-2026 00:00:00] WARNING: [pool www] server reached pm.max_children setting (5), consider raising it",
    open_files = "2026/01/01 00:00:00 [crit] 1#1: accept4() failed (24: Too many open files)",
}
for cause, line in pairs(TEXTS) do
    t.is(classify.line(line), cause, "text of " .. cause)
end
t.is(classify.log("2026/01/01 00:00:00 [error] 1#1: something new\n").unknown.count, 1, "unknown errors are counted")
t.is(next(classify.log("2026/01/01 00:00:00 [notice] 1#1: start worker processes\n")), nil, "notices are no failures")

local function names(evidence)
    local list = {}
    for i, cause in ipairs(classify.causes(evidence)) do
        list[i] = cause.cause
    end
    return table.concat(list, " ")
end
t.is(names({}), "", "no evidence, no cause")
t.is(names({ tcp_ext = { ListenOverflows = 482, ListenDrops = 482 } }), "accept_queue_overflow",
    "overflows of a TCP listen queue")
t.is(names({ tcp_ext = { ListenOverflows = 0, ListenDrops = 0 } }), "", "counters that stand still say nothing")
t.is(names({ queues = { { name = "pool", max = 5, backlog = 5, asked = 5 } } }), "accept_queue_full",
    "a listen queue at its limit")
t.is(names({ queues = { { name = "pool", max = 7, backlog = 128, asked = 8192 } } }), "backlog_capped queueing",
    "a backlog that the kernel cut")

-- The published listings, as their arithmetic says.
local function result(fields)
    local client = { elapsed_s = 1, ok_per_s = 0, connections = 10, requests = { started = 0, ok = 0 },
        failures = {}, status = {}, reasons = {} }
    for key, value in pairs(fields) do
        client[key] = value
    end
    return client
end
-- apache-nginx, slow script on nginx: 3000 requests, 801 real answers, 2199 error pages in 3.555 s.
local slow = result({ elapsed_s = 3.555, ok_per_s = 801 / 3.555, requests = { started = 3000, ok = 801 },
    status = { ["2xx"] = 801, ["5xx"] = 2199 } })
t.is(names({ client = slow }), "error_pages", "error pages counted as throughput are named")
local seen_rate = classify.throughput(slow)
t.ok(math.abs(seen_rate.finished_per_s - 843.87) < 0.1, "what ab printed: 843.87 requests/s")
t.ok(math.abs(seen_rate.ok_per_s - 225.3) < 0.1, "what was answered: 225.3/s")
-- php-node-lua: connect maxima of 3.001 s and 1.0 s are SYN retries.
t.is(names({ client = result({ connect_us = { max = 3001000 } }) }), "syn_retries", "a connect of 3.0 s is a SYN retry")
t.is(names({ client = result({ connect_us = { max = 2100000 } }) }), "", "a connect of 2.1 s is not")
-- The slow page with 8 children: 20/s whatever the clients.
t.is(names({ client = result({ ok_per_s = 19.7, connections = 1000, requests = { started = 100, ok = 100 } }),
    pool = { children = 8, seconds_per_request = 0.4 } }), "blocking_ceiling", "children / time per request is the ceiling")
t.is(names({ client = result({ ok_per_s = 12, connections = 5 }), pool = { children = 8, seconds_per_request = 0.4 } }),
    "", "with fewer clients than children it is not")
t.is(names({ pool = { children = 2, keepalive = 8, front_workers = 2, blocks_on_kept = true } }), "keepalive_pinning",
    "more kept connections than children that block on them")
t.is(names({ pool = { children = 2, keepalive = 8, front_workers = 2 } }), "",
    "which is no trouble for a pool that does not block")
t.is(names({ client = result({ failures = { length = 3, timeout = 1 } }) }), "wrong_bodies client_time_out",
    "failures of the client by kind")
for reason, cause in pairs({
    ["local ports ran out 12 times (28232 available): keep connections (-k)"] = "port_exhaustion",
    ["the client's busiest thread used 97 % of a core: the figures describe the client"] = "client_saturated",
    ["the server's listen queue was full 40 times: raise its backlog"] = "accept_queue_full",
    ["3 connections were accepted but never served"] = "children_starved",
    ["the client's accounting does not close; please report this"] = "",
}) do
    t.is(names({ client = result({ reasons = { reason } }) }), cause, "the client's reason: " .. reason:sub(1, 40))
end
local causes = classify.causes({ logs = { error_log = recorded },
    queues = { { name = "pool", max = 6, backlog = 5, asked = 5 } } })
t.is(causes[1].cause, "accept_queue_full", "the weightiest cause comes first")
t.like(causes[1].evidence, "3 log lines.*; pool: the listen queue was full", "evidence of two sources is joined")
t.ok(#causes[1].remedy > 0, "each cause has a remedy")

t.done()
