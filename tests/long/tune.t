#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Tuning in full: the recommendation for a page that sleeps, a command of one's own, interrupts at any moment.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local tuning = require("tuning")
local process = t.process
local stat = require("posix.sys.stat")

-- 200 ms asleep, 8 clients: 8 / 0.2 = 40/s at most; 95 % of it need 7.6 children, so 8 of whole ones.
t.case("a page that sleeps", function()
    local argv, place = tuning.command { "fcgi-server", "--page", "/sleep?ms=200", "-c", "8", "--counts", "2,4,8,12",
        "--repeats", "2", "-d", "500ms" }
    argv.timeout = 55
    local run = process.run(argv)
    t.is(run.status, 0, "the sweep ends well")
    local record, folder = tuning.record(place)
    t.ok(record and record.complete, "results.json says complete")
    local sweep = record.tunings[1]
    local chosen = sweep.recommendation.children
    if sweep.noise > 0.04 then
        t.skip("recommended: " .. tostring(chosen), "the machine is too busy, A/A pairs differ by more than 4 %")
    else
        t.ok(type(chosen) == "number" and chosen >= 0.9 * 7.6 and chosen <= 1.1 * 8,
            "recommended: " .. tostring(chosen) .. ", the arithmetic says 7.6 to 8")
    end
    t.is(sweep.recommendation.binding, "clients", "and that the clients are the limit")
    for _, row in ipairs(sweep.rows) do
        t.ok(row.running == row.children and not row.flaw, row.children .. " children were asked and ran")
        if row.children <= 8 and row.rate then
            t.ok(row.rate.mean <= 1.05 * row.children / 0.2, ("%d children: %.0f/s is at most %d / 200 ms"):format(
                row.children, row.rate.mean, row.children))
        end
    end
    t.like(run.out, "RECOMMENDED: %d+ children", "the terminal says it")
    t.like(run.out, "spawn%-fcgi .* %-F " .. tostring(chosen), "with the lines to paste")
    t.like(run.out, " 1000x ", "and the load on paper")
    t.like(t.read_file(folder .. "/report.md") or "", "RECOMMENDED", "report.md says it as well")
    t.like(t.read_file(folder .. "/report.html") or "", "<svg", "report.html draws the curves")
    t.is(#tuning.entries(place.temporary), 0, "the temporary folder is empty again")
end)

t.case("a command of the user's own", function()
    local socket = t.dir .. "/own.sock"
    local argv, place = tuning.command { "--command", "'" .. t.build .. "/fcgi-server' -c '" .. t.root
        .. "/conf/fcgi-server.lua' -l 'unix:" .. socket .. "' -n {children}",
        "--url", "fcgi+unix:" .. socket .. ":/sleep?ms=50", "-c", "8", "--counts", "2,4,8", "--repeats", "2", "-d", "200ms" }
    argv.timeout = 55
    local run = process.run(argv)
    t.is(run.status, 0, "straight to its socket")
    local record = tuning.record(place)
    local row = record and record.tunings[1].rows[1]
    t.ok(row and row.running == 2 and row.rate.mean > 20 and row.rate.mean < 42, "2 children of 50 ms: at most 40/s")
    t.is(stat.stat(socket), nil, "its socket is gone")
end)

tuning.interrupted("INT at the start", "INT", 130, function(place)
    return stat.stat(place.temporary) and #tuning.entries(place.temporary) > 0
end)
tuning.interrupted("TERM in a measurement", "TERM", 143, tuning.some_time_after("round 1", 0.4))
tuning.interrupted("HUP between two", "HUP", 129, tuning.output_has("round 1"))
tuning.interrupted("two INT in a row", "INT", 130, tuning.some_time_after("round 1", 0.2), true)

t.done()
