#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Tuning: a small sweep end to end, refusals, mistakes on the command line, an interrupt.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local tuning = require("tuning")
local process = t.process

-- 100 ms asleep, 4 clients: 2 children answer 20/s, 4 children 40/s, and more can do no more.
t.case("a small sweep", function()
    local argv, place = tuning.command { "fcgi-server", "--page", "/sleep?ms=100", "-c", "4", "--counts", "2,4", "--repeats", "2",
        "-d", "200ms" }
    argv.timeout = 50
    local run = process.run(argv)
    t.is(run.status, 0, "ends well")
    local record = tuning.record(place)
    local sweep = record.tunings[1]
    for _, row in ipairs(sweep.rows) do
        t.ok(row.running == row.children and row.rate.mean <= 1.05 * row.children / 0.1,
            ("%d children ran and answered %.1f/s, at most %d / 100 ms"):format(row.children, row.rate.mean, row.children))
    end
    if sweep.noise > 0.04 then
        t.skip("the recommendation", "the machine is too busy, A/A pairs differ by more than 4 %")
    else
        t.is(sweep.recommendation.children, 4, "4 children for 4 clients")
    end
    t.is(#tuning.entries(place.temporary), 0, "the temporary folder is empty again")
end)

t.case("answers of somebody else", function()
    local port = t.free_port()
    local other = t.server.start { address = "127.0.0.1:" .. port }
    local argv, place = tuning.command { "--command", "sleep {children}", "--url", "fcgi://127.0.0.1:" .. port .. "/echo",
        "--counts", "1,2" }
    argv.timeout = 30
    t.is(process.run(argv).status, 3, "are refused")
    t.like(tuning.record(place).tunings[1].error, "somebody else's", "with the reason")
    other:stop()
end)

t.case("a program that does not do what {children} says", function()
    local socket = t.dir .. "/own.sock"
    local server = ("'%s/fcgi-server' -c '%s/conf/fcgi-server.lua' -l 'unix:%s' -n 2 --pool p{children}"):format(t.build, t.root, socket)
    local function tune(line)
        local argv, place = tuning.command { "--command", line, "--url", "fcgi+unix:" .. socket .. ":/echo", "-c", "4",
            "--counts", "2,4", "--quick", "--repeats", "1" }
        argv.timeout = 60
        local run = process.run(argv)
        return run, tuning.record(place).tunings[1]
    end
    local run = tune(server)
    t.like(run.out, "4 asked, 2 run: {children} must fix the number", "says so in the row")
    run = tune("true {children}")
    t.is(run.status, 3, "one that does not stay")
    t.like(run.out, "it ended %(status 0%): it must stay in the foreground", "is told to")
end)

t.case("a program that ends by itself", function()
    local socket = t.dir .. "/brief.sock"
    local brief = t.write_file(t.dir .. "/brief", ("#!/bin/sh\n'%s/fcgi-server' -c '%s/conf/fcgi-server.lua' -l 'unix:%s' -n $1\nexit 7\n")
        :format(t.build, t.root, socket))
    process.run { "chmod", "+x", brief }
    local argv, place = tuning.command { "--command", "'" .. brief .. "' {children}", "--url", "fcgi+unix:" .. socket .. ":/echo", "-c", "4",
        "--counts", "2,4", "-d", "2s", "--repeats", "1" }
    argv.stdout = t.dir .. "/brief.out"
    local pid = process.spawn(argv)
    local how, code
    process.poll(100, function()
        local servers, measuring = {}, false
        for _, one in ipairs(process.descendants(pid)) do
            local command = process.command(one) or ""
            measuring = measuring or command:find("load%-client .*2000ms") -- a row, not the look before it
            servers[#servers + 1] = command:find("^[^ ]*fcgi%-server[: ]") and one or nil -- by its title, once it has one
        end
        for _, one in ipairs(measuring and servers or {}) do
            process.kill(one, "KILL")
        end
        how, code = process.wait(pid, 0)
        return how ~= nil
    end)
    local out = t.read_file(argv.stdout)
    t.is(tostring(how) .. " " .. tostring(code), "exited 0", "a reasoned refusal is a result")
    t.like(out, "2 asked, 0 run: pool ended by itself %(status 7%)", "the row says how it ended")
    t.like(out, "4 asked, 0 run: pool ended by itself %(status 7%)", "so does the other")
    t.ok(not out:find("RECOMMENDED", 1, true), "and none is recommended", out)
    t.is(#tuning.entries(place.temporary), 0, "nothing is left")
end)

t.case("mistakes on the command line", function()
    for _, words in ipairs { { "--counts", "1" }, { "--counts", "0,2" }, { "-c", "many" }, { "--url", "http://x/" },
        { "--command", "x" }, { "--nonsense" }, { "--p99", "fast" } } do
        local argv = tuning.command(words)
        argv.timeout = 10
        local run = process.run(argv)
        t.ok(run.status == 1 and run.err:find("tune %-%-help"), table.concat(words, " ") .. ": exit code 1 and where the usage is")
    end
    for word, reason in pairs { ["fcgi-server"] = "no page nowhere; it has david", ["php-fmp"] = "no stack of this name" } do
        local argv = tuning.command { word, "--page", "nowhere", "--counts", "1,2" }
        argv.timeout = 20
        local run = process.run(argv)
        t.is(run.status, 1, word .. ", page nowhere: refused before anything starts")
        t.like(run.err, reason, "and says why")
    end
end)

tuning.interrupted("TERM in a measurement", "TERM", 143, tuning.some_time_after("round 1", 0.4))

t.done()
