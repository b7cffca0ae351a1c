#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- No waiting time is left out of a percentile in silence: a server that stops answering in the
-- middle of a run, over HTTP and FastCGI, in a closed and an open loop, searched, merged, as a series.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local cjson = require("cjson")
local fcgi, load, process = t.fcgi, t.load, t.process

local function page(speaks_fcgi)
    return speaks_fcgi and fcgi.record(fcgi.STDOUT, 1, "A: b\r\n\r\nhello") .. fcgi.record(fcgi.END, 1, ("\0"):rep(8))
        or "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
end

-- Answers for <seconds> from the first request on, then accepts and reads and is silent.
local function stops_after(seconds, speaks_fcgi)
    local started
    return t.scripted.start {
        fcgi = speaks_fcgi,
        answer = function()
            started = started or t.now()
            return page(speaks_fcgi), { silent = t.now() - started > seconds }
        end,
    }
end

local function notes(report)
    return table.concat(report.reasons or {}, "; ") .. "; " .. table.concat(report.notes or {}, "; ")
end

for _, speaks_fcgi in ipairs { false, true } do
    local name = speaks_fcgi and "FastCGI" or "HTTP"
    -- Open loop, room for all: 300 of 600 requests are in flight, up to 1 s old.
    local server = stops_after(1, speaks_fcgi)
    local report, result = load.run { "-R", 300, "-c", 400, "-k", "-d", "2s", "--slo", "p99<200ms", server.url }
    server:stop()
    local note = load.summary(report, result) .. notes(report)
    t.ok(load.closes(report) and report.requests.in_flight > 200, name .. ", open loop: it stopped", note)
    t.ok(report.slo[1].held == false and result.status == 3, name .. ", open loop: the objective is missed", note)
    t.ok(report.response_us.p75 > 300000 and report.response_us.max > 800000 and report.response_us.p50 < 400000,
        name .. ", open loop: ages stand in the percentiles", cjson.encode(report.response_us))
    t.ok(report.in_flight_us.count == report.requests.in_flight + report.events.unsent and report.response_lower_bounds > 200,
        name .. ", open loop: ages have a row of their own", note)
    t.like(notes(report), "had waited up to", name .. ", open loop: the verdict says so")

    -- Open loop, two connections: what was due and not sent has waited as well.
    server = stops_after(1, speaks_fcgi)
    report, result = load.run { "-R", 300, "-c", 2, "-k", "-d", "2s", "--slo", "p99<200ms", server.url }
    server:stop()
    note = load.summary(report, result) .. notes(report)
    t.ok(report.requests.in_flight == 2 and report.events.unsent > 200 and report.slo[1].held == false and result.status == 3,
        name .. ", open loop, two connections: missed", note)
    t.ok(report.response_us.p75 > 300000, name .. ", open loop, two connections: in the percentiles", cjson.encode(report.response_us))

    -- Closed loop: nine of ten connections are dead from the second request on.
    server = t.scripted.start {
        fcgi = speaks_fcgi,
        answer = function(_, _, place)
            return page(speaks_fcgi), { silent = place.connection > 1 and place.index > 1 }
        end,
    }
    local json = t.dir .. "/stuck.json"
    for _, objective in ipairs { "p99<200ms", "p50<200ms", "mean<200ms", "max<200ms" } do
        report, result = load.run { "-c", 10, "-k", "-d", "1s", "--slo", objective, server.url }
        note = load.summary(report, result) .. notes(report)
        t.ok(report.requests.in_flight == 10 or report.requests.in_flight == 9, name .. ", closed loop: nine wait", note)
        t.ok(report.slo[1].held == false and result.status == 3 and report.verdict == "invalid",
            name .. ", closed loop: " .. objective .. " is not called held", note)
        t.like(notes(report), "of the connections' time", name .. ", closed loop: the verdict says so")
        server:stop()
        server = t.scripted.start {
            fcgi = speaks_fcgi,
            answer = function(_, _, place)
                return page(speaks_fcgi), { silent = place.connection > 1 and place.index > 1 }
            end,
        }
    end
    process.run { load.program, "-q", "-f", "json", "-o", json, "-c", 10, "-k", "-d", "1s", server.url }
    server:stop()
    result = process.run { load.program, "merge", "-f", "json", "--slo", "p99<200ms", json }
    report = cjson.decode(result.out)
    t.ok(report.slo[1].held == false and result.status == 3 and report.verdict == "invalid" and report.in_flight_us.count >= 9,
        name .. ", merged: the same", notes(report))

    -- The search calls no rate held that ended with everything in flight.
    server = stops_after(0.5, speaks_fcgi)
    report, result = load.run { "--find-max", "p90<100ms", "-c", 50, "-k", "-d", "400ms", server.url, timeout = 50 }
    server:stop()
    t.ok(report.find_max and report.find_max.rate_per_s == 0 and result.status >= 2, name .. ", searched: no rate held",
        load.summary(report, result))
end

t.case("a healthy run is not doubted", function()
    local server = t.scripted.start { answer = function() return page(), { delay = 0.02 } end }
    local report, result = load.run { "-c", 4, "-k", "-d", "1s", "--slo", "p50<1s", server.url }
    server:stop()
    t.ok(report.requests.in_flight > 0 and report.slo[1].held and result.status == 0, "held", load.summary(report, result))
    t.ok(report.response_us.min >= 20000, "an age lowers no figure", cjson.encode(report.response_us))
end)

t.case("a series shows the stall", function()
    local series = t.dir .. "/series"
    local server = stops_after(0.7)
    load.run { "-c", 4, "-k", "-d", "3s", "--series", series, server.url }
    server:stop()
    local rows = {}
    for line in (process.read_file(series) or ""):gmatch("[^\n]+") do
        rows[#rows + 1] = cjson.decode(line)
    end
    t.ok(#rows >= 3 and rows[1].ok > 0 and rows[1].p50_us ~= cjson.null, "the first second has answers", #rows)
    for i = 2, 3 do
        t.ok(rows[i] and rows[i].ok == 0 and rows[i].p50_us == cjson.null and rows[i].p99_us == cjson.null
            and rows[i].max_us == cjson.null and rows[i].in_flight == 4, "second " .. i .. " has null, and what is in flight",
            rows[i] and cjson.encode(rows[i]))
    end
end)

t.done()
