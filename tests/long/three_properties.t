#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The three properties of kept connections, for 1 to 64 children behind nginx with 1 and 2
-- workers: nothing waits for an idle connection; nothing waits behind a busy child while
-- another is idle; and the speed is that of a bare responder, not that of reconnecting.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process
t.need("nginx", "curl")

local SECONDS = os.getenv("SHORT") and 1 or 3

-- A load client that runs beside the one that is looked at.
local function beside(...)
    local command = { load.program, "-q", "-f", "json", "-d", (SECONDS + 1) .. "s", ... }
    command.stdout = os.tmpname()
    return { pid = process.spawn(command), file = command.stdout }
end

local function report_of(job)
    process.wait(job.pid, SECONDS + 30)
    local report = require("cjson").decode(process.read_file(job.file))
    os.remove(job.file)
    return report
end

local function with_front(children, workers, keepalive, body)
    local server = t.server.start { engine = "event", children = children }
    local front = t.front.nginx { fcgi = server.address, keepalive = keepalive, workers = workers }
    body(server, front)
    front:stop()
    server:unchanged("afterwards")
    server:stop()
end

-- Kept connections from nginx, kept and fresh ones straight, all at once.
local function nothing_starves(children, workers, keepalive)
    t.case(("%d children, %d workers, keepalive %d"):format(children, workers, keepalive), function()
        with_front(children, workers, keepalive, function(server, front)
            local jobs = {
                beside("-c", "8", "-k", "fcgi+" .. server.address .. ":/hello?name=x"),
                beside("-c", "8", "fcgi+" .. server.address .. ":/hello?name=x"),
            }
            local report, result = load.run {
                "-c", 32, "-k", "-d", SECONDS .. "s", front.url .. "/hello?name=x", timeout = SECONDS + 30,
            }
            t.ok(report.requests.failed == 0 and report.response_us.max < 1e6,
                "kept connections: all answered, none in 1 s", load.summary(report, result))
            for index, name in ipairs { "kept ones beside them", "fresh ones beside them" } do
                local other = report_of(jobs[index])
                t.ok(other.requests.failed == 0 and other.requests.ok > 50 and other.response_us.max < 1e6,
                    name, load.summary(other, { err = "" }) .. " max " .. tostring(other.response_us.max))
            end
        end)
    end)
end

-- All children but one sleep for 400 ms at a time; quick requests run on what is left.
local function work_is_conserved(children, workers)
    t.case(("%d of %d children sleep, %d workers"):format(children - 1, children, workers), function()
        with_front(children, workers, 64, function(_, front)
            local sleepers = beside("-c", tostring(children - 1), "-k", front.url .. "/sleep")
            process.pause(1)
            local report, result = load.run {
                "-c", 8, "-k", "-d", SECONDS .. "s", front.url .. "/hello?name=x", timeout = SECONDS + 30,
            }
            local us = report.response_us
            local p999 = load.tail_us(report)
            t.ok(report.requests.failed == 0 and p999 < 200e3,
                "999 of 1,000 quick requests in less than half a sleep",
                load.summary(report, result) .. " p999 " .. tostring(p999))
            t.note(("%d quick ones: p50 %.1f ms, p999 %.1f ms, max %.1f ms"):format(
                report.requests.ok, us.p50 / 1e3, p999 / 1e3, us.max / 1e3))
            t.is(report_of(sleepers).requests.failed, 0, "the sleepers are answered")
        end)
    end)
end

-- Interleaved rounds against the bare responder; half of its speed is far above what
-- reconnecting reaches, and below what a busy machine takes away.
local function speed()
    local floor_address = "unix:" .. t.dir .. "/floor"
    local floor = process.spawn { t.build .. "/floor-responder", floor_address, "4" }
    local server = t.server.start { engine = "event", children = 4 }
    local fronts = {
        t.front.nginx { fcgi = server.address, keepalive = 64 },
        t.front.nginx { fcgi = floor_address, keepalive = 64 },
    }
    local ratios = {}
    for round = 1, 5 do
        local rates = {}
        for side, front in ipairs(fronts) do
            local report = load.run {
                "-c", 64, "-k", "-d", "1s", front.url .. "/echo", timeout = 30,
            }
            rates[side] = report.ok_per_s or 0
        end
        ratios[round] = rates[1] / rates[2]
    end
    table.sort(ratios)
    t.ok(ratios[3] > 0.5, "64 clients on 4 children: no slower than half of the bare responder", tostring(ratios[3]))
    t.note(("the median of five ratios: %.2f"):format(ratios[3]))
    process.kill(floor, "TERM")
    for _, front in ipairs(fronts) do
        front:stop()
    end
    server:stop()
end

for _, workers in ipairs { 1, 2 } do
    for _, children in ipairs { 1, 2, 4, 64 } do
        nothing_starves(children, workers, children == 2 and 1 or 64)
    end
    for _, children in ipairs { 2, 4, 64 } do
        work_is_conserved(children, workers)
    end
end
t.case("speed", speed)
t.done()
