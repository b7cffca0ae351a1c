#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- ab, wrk and the load client agree on counts (exactly, with the access log as the judge) and on
-- rates (within 10 % of ab, 5 % of wrk) of a stack whose capacity is known: 4 children that sleep 10 ms each.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local cjson = require("cjson")
local stack = require("bench.suite.stacks.stack")
t.need("ab", "wrk", "curl")

local REQUESTS, CLIENTS, ROUNDS, CHILDREN, SLEEP_MS = 400, 16, 5, 4, 10

local function number(text, pattern)
    return tonumber(text:match(pattern))
end

-- name -> function(url) that runs it and returns what it counts and its rate per second
local clients = {}

function clients.ab(url)
    local out = t.process.run({ "ab", "-q", "-n", REQUESTS, "-c", CLIENTS, url, timeout = 60 }).out
    return number(out, "Complete requests: +(%d+)"), number(out, "Requests per second: +([%d.]+)")
end

function clients.load_client(url)
    local run = t.process.run { t.build .. "/load-client", "-n", REQUESTS, "-c", CLIENTS, "-f", "json", url, timeout = 60 }
    local result = cjson.decode(run.out)
    return result.requests.ok, result.ok_per_s
end

-- The log is written in blocks: it is complete once nginx has ended.
local function lines(path)
    local _, count = (t.read_file(path) or ""):gsub("\n", "")
    return count
end

t.case("counts", function()
    for name, client in pairs(clients) do
        local dir = t.dir .. "/" .. name
        local s = assert(stack.up("nginx-fcgi-c", { children = CHILDREN, access_log = true, dir = dir }))
        local before = 0
        for _ in pairs(s.pages) do
            before = before + 1 -- readiness asked for each once
        end
        local counted = client(s.url .. "/sleep?ms=1")
        t.is(counted, REQUESTS, name .. ": all were answered")
        stack.down(s)
        local logged = lines(s.logs.access_log) - before
        t.is(logged, REQUESTS, name .. ": as the access log has it")
    end
end)

local function median(list)
    table.sort(list)
    return list[math.floor(#list / 2) + 1]
end

t.case("rates", function()
    local s = assert(stack.up("nginx-fcgi-c", { children = CHILDREN }))
    local url = ("%s/sleep?ms=%d"):format(s.url, SLEEP_MS)
    local to_ab, to_wrk, rates = {}, {}, {}
    for round = 1, ROUNDS do
        local _, ab = clients.ab(url)
        local _, ours = clients.load_client(url)
        local out = t.process.run({ "wrk", "-t1", "-c", CLIENTS, "-d1s", url, timeout = 20 }).out
        local wrk = number(out, "Requests/sec: +([%d.]+)")
        local kept = cjson.decode(t.process.run({ t.build .. "/load-client", "-k", "-d", "1s", "-c", CLIENTS,
            "-f", "json", url, timeout = 20 }).out).ok_per_s
        to_ab[round], to_wrk[round], rates[round] = ours / ab, kept / wrk, ours
    end
    stack.down(s)
    t.note(("rate %.0f/s, bound %.0f/s; of ab %.3f, of wrk %.3f"):format(
        median(rates), CHILDREN * 1000 / SLEEP_MS, median(to_ab), median(to_wrk)))
    t.ok(math.abs(median(to_ab) - 1) < 0.1, "within 10 % of ab, median of " .. ROUNDS .. " rounds", median(to_ab))
    t.ok(math.abs(median(to_wrk) - 1) < 0.05, "within 5 % of wrk, kept connections", median(to_wrk))
end)

t.done()
