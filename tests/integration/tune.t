#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Tuning: a small sweep of a page that sleeps recommends what the arithmetic says; a pool of the
-- user's own works; an interrupted sweep leaves nothing behind and keeps what it has.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local cjson = require("cjson")
local process = t.process
local dirent = require("posix.dirent")

local bench = t.root .. "/bench/bench"
local serial = 0

local function entries(path)
    local list = {}
    for name in dirent.files(path) do
        if name ~= "." and name ~= ".." then
            list[#list + 1] = name
        end
    end
    return list
end

-- A run of `bench tune` with a results and a temporary folder of its own.
local function command(arguments)
    serial = serial + 1
    local place = { results = t.dir .. "/results " .. serial, temporary = t.dir .. "/t" .. serial }
    require("posix.sys.stat").mkdir(place.temporary)
    local argv = { "luajit", bench, "tune", "--plain", "-o", place.results, "--seed", "7" }
    for _, word in ipairs(arguments) do
        argv[#argv + 1] = word
    end
    argv.env = { TMPDIR = place.temporary, BUILD = t.build }
    return argv, place
end

local function record_of(place)
    local folder = entries(place.results)
    for _, name in ipairs(folder) do
        if name ~= "latest" then
            local text = t.read_file(place.results .. "/" .. name .. "/results.json")
            return text and cjson.decode(text), place.results .. "/" .. name
        end
    end
end

-- 200 ms asleep, 8 clients: 8 / 0.2 = 40/s at most; 95 % of it need 7.6 children, so 8 of whole ones.
t.case("a page that sleeps", function()
    local argv, place = command { "fcgi-server", "--page", "/sleep?ms=200", "-c", "8", "--counts", "2,4,8,12",
        "--repeats", "2", "-d", "500ms" }
    argv.timeout = 55
    local run = process.run(argv)
    t.is(run.status, 0, "the sweep ends well")
    local record, folder = record_of(place)
    t.ok(record and record.complete, "results.json says complete")
    local tuning = record.tunings[1]
    local chosen = tuning.recommendation.children
    if tuning.noise > 0.04 then
        t.skip("recommended: " .. tostring(chosen), "the machine is too busy, A/A pairs differ by more than 4 %")
    else
        t.ok(type(chosen) == "number" and chosen >= 0.9 * 7.6 and chosen <= 1.1 * 8,
            "recommended: " .. tostring(chosen) .. ", the arithmetic says 7.6 to 8")
    end
    t.is(tuning.recommendation.binding, "clients", "and that the clients are the limit")
    for _, row in ipairs(tuning.rows) do
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
    t.is(#entries(place.temporary), 0, "the temporary folder is empty again")
end)

t.case("a command of the user's own", function()
    local socket = t.dir .. "/own.sock"
    local argv, place = command { "--command", "'" .. t.build .. "/fcgi-server' -c '" .. t.root
        .. "/conf/fcgi-server.lua' -l 'unix:" .. socket .. "' -n {children}",
        "--url", "fcgi+unix:" .. socket .. ":/sleep?ms=50", "-c", "8", "--counts", "2,4,8", "--repeats", "2", "-d", "200ms" }
    argv.timeout = 55
    local run = process.run(argv)
    t.is(run.status, 0, "straight to its socket")
    local record = record_of(place)
    local row = record and record.tunings[1].rows[1]
    t.ok(row and row.running == 2 and row.rate.mean > 20 and row.rate.mean < 42, "2 children of 50 ms: at most 40/s")
    t.is(require("posix.sys.stat").stat(socket), nil, "its socket is gone")
end)

t.case("answers of somebody else", function()
    local port = t.free_port()
    local other = t.server.start { address = "127.0.0.1:" .. port }
    local argv, place = command { "--command", "sleep {children}", "--url", "fcgi://127.0.0.1:" .. port .. "/echo",
        "--counts", "1,2" }
    argv.timeout = 30
    t.is(process.run(argv).status, 3, "are refused")
    t.like(record_of(place).tunings[1].error, "somebody else's", "with the reason")
    other:stop()
end)

t.case("mistakes on the command line", function()
    for _, words in ipairs { { "--counts", "1" }, { "--counts", "0,2" }, { "-c", "many" }, { "--url", "http://x/" },
        { "--command", "x" }, { "--nonsense" }, { "--p99", "fast" } } do
        local argv = command(words)
        argv.timeout = 10
        local run = process.run(argv)
        t.ok(run.status == 1 and run.err:find("usage:", 1, true), table.concat(words, " ") .. ": exit code 1 and the usage")
    end
    local argv, place = command { "fcgi-server", "--page", "nowhere", "--counts", "1,2" }
    argv.timeout = 20
    t.is(process.run(argv).status, 3, "a page that is not there cannot be measured")
    t.like(record_of(place).tunings[1].error, "no page nowhere", "and the record says why")
end)

-- Interrupts: at the start, in a measurement, between two; one signal and two.
local function interrupted(name, signal, code, when, twice)
    t.case(name, function()
        local argv, place = command { "fcgi-server", "--page", "/sleep?ms=50", "-c", "8", "--counts", "2,4,8,16",
            "--repeats", "3", "-d", "500ms" }
        place.out = t.dir .. "/out" .. serial
        argv.stdout, argv.stderr, argv.own_group = place.out, t.dir .. "/err", true
        local pid = process.spawn(argv)
        t.ok(t.poll(20, function() return when(place) end), "it came that far")
        local began = t.now()
        process.kill(pid, signal)
        if twice then
            process.pause(0.1)
            process.kill(pid, signal)
        end
        local how, status = process.wait(pid, 10)
        local took = t.now() - began
        t.is(how .. " " .. tostring(status), "exited " .. code, "the exit code")
        t.ok(took < 3, ("within 3 s (%.2f s)"):format(took))
        t.is(#process.descendants(require("posix.unistd").getpid()), 0, "no process is left")
        t.is(table.concat(entries(place.temporary), " "), "", "nor a file in the temporary folder")
        local record = require("posix.sys.stat").stat(place.results) and record_of(place)
        if record then
            t.is(record.complete, false, "what was measured is kept and marked incomplete")
            t.is(record.interrupted, signal, "with the signal's name")
        end
    end)
end

local function output_has(pattern)
    return function(place)
        return (t.read_file(place.out) or ""):find(pattern) ~= nil
    end
end
local function some_time_after(pattern, seconds)
    local seen
    return function(place)
        if output_has(pattern)(place) then
            seen = seen or t.now()
        end
        return seen and t.now() - seen > seconds
    end
end
interrupted("INT at the start", "INT", 130, function(place)
    return require("posix.sys.stat").stat(place.temporary) and #entries(place.temporary) > 0
end)
interrupted("TERM in a measurement", "TERM", 143, some_time_after("round 1", 0.4))
interrupted("HUP between two", "HUP", 129, output_has("round 1"))
interrupted("two INT in a row", "INT", 130, some_time_after("round 1", 0.2), true)

t.done()
