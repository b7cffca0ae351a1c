#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- ab, wrk and the load client agree on counts (exactly, with the access log as the judge) and on
-- rates (within 10 % of ab, 5 % of wrk) of a stack whose capacity is known: 4 children that sleep 10 ms each; and its
-- percentiles of known delays are those of the server's own record.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local cjson = require("cjson")
local stack = require("bench.suite.bring_up.stack")
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

-- Nine of ten answers after 20 ms, one after 200 ms. The server's own durations are the independent record; beside
-- them the client sees what lies outside the handler (connect, wake-ups), which is what the same load with a
-- page without delay shows: twice its p99 before or after, and a millisecond.
t.case("percentiles of known delays", function()
    local COUNT, OPEN, STEP, MARGIN_US = 1000, 8, 1 / 1024, 1000
    local log = t.dir .. "/durations"
    local list = t.process.write_file(t.dir .. "/delays", "9 /sleep?ms=20\n1 /sleep?ms=200\n")
    local server = t.server.start { children = 2 * OPEN, arguments = { "--access-log", log, "--access-format", "%r %q %d" } }
    local address = "fcgi+" .. server.address .. ":"
    local function undelayed()
        return t.load.run({ "-n", COUNT, "-c", OPEN, address .. "/echo", timeout = 120 }).response_us.p99
    end
    local before = undelayed()
    local seen = t.load.run { "-n", COUNT, "-c", OPEN, "-l", "--requests-file", list, address .. "/", timeout = 120 }
    local after = undelayed()
    server:stop()

    local durations = {}
    for delay, us in t.read_file(log):gmatch("/sleep %S*ms=(%d+) (%d+)\n") do
        durations[#durations + 1] = tonumber(us)
        if tonumber(us) < tonumber(delay) * 1000 then
            t.ok(false, "the record itself has no delay too short", us .. " us of " .. delay .. " ms")
        end
    end
    table.sort(durations)
    t.is(#durations, COUNT, "the record has every request")
    t.is(seen.requests.ok, COUNT, "and so has the client")
    local allowance = 2 * math.max(before, after) + MARGIN_US
    for name, wanted in pairs { p50 = { 0.50, 20 }, p99 = { 0.99, 200 } } do
        local record, client, delay = durations[math.ceil(wanted[1] * COUNT)], seen.response_us[name], wanted[2] * 1000
        t.note(("%s: client %.2f ms, record %.2f ms, delay %d ms, allowance %.2f ms"):format(
            name, client / 1000, record / 1000, wanted[2], allowance / 1000))
        t.ok(client >= delay, name .. ": not below the delay", client)
        t.ok(math.abs(client - record) <= STEP * record + allowance, name .. ": what the record has", client .. " " .. record)
    end
end)

t.done()
