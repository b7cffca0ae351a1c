-- SPDX-License-Identifier: MIT
--
-- tuning.lua - runs of `bench/bench tune` for tests, each with folders of its own:
--
--   tuning.command{"fcgi-server", "-c", "8"} -> argv for process.run or spawn, place
--   tuning.record(place) -> results.json as a table, its folder
--   tuning.interrupted(name, signal, exit_code, when(place), twice): one test case
--   tuning.output_has(pattern), tuning.some_time_after(pattern, seconds): for <when>
--   tuning.entries(folder) -> list of names

local t = require("testing")
local cjson = require("cjson")
local process = t.process
local dirent = require("posix.dirent")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local tuning = {}
local bench = t.root .. "/bench/bench"
local serial = 0

function tuning.entries(path)
    local list = {}
    for name in dirent.files(path) do
        if name ~= "." and name ~= ".." then
            list[#list + 1] = name
        end
    end
    return list
end

-- A run of `bench tune` with a results and a temporary folder of its own.
function tuning.command(arguments)
    serial = serial + 1
    local place = { results = t.dir .. "/results " .. serial, temporary = t.dir .. "/t" .. serial }
    stat.mkdir(place.temporary)
    local argv = { "luajit", bench, "tune", "--plain", "-o", place.results, "--seed", "7" }
    for _, word in ipairs(arguments) do
        argv[#argv + 1] = word
    end
    argv.env = { TMPDIR = place.temporary, BUILD = t.build }
    return argv, place
end

function tuning.record(place)
    local folder = tuning.entries(place.results)
    for _, name in ipairs(folder) do
        if name ~= "latest" then
            local text = t.read_file(place.results .. "/" .. name .. "/results.json")
            return text and cjson.decode(text), place.results .. "/" .. name
        end
    end
end

-- Interrupts: at the start, in a measurement, between two; one signal and two.
function tuning.interrupted(name, signal, code, when, twice)
    t.case(name, function()
        local argv, place = tuning.command { "fcgi-server", "--page", "/sleep?ms=50", "-c", "8", "--counts", "2,4,8,16",
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
        t.is(#process.descendants(unistd.getpid()), 0, "no process is left")
        t.is(table.concat(tuning.entries(place.temporary), " "), "", "nor a file in the temporary folder")
        local record = stat.stat(place.results) and tuning.record(place)
        if record then
            t.is(record.complete, false, "what was measured is kept and marked incomplete")
            t.is(record.interrupted, signal, "with the signal's name")
        end
    end)
end

function tuning.output_has(pattern)
    return function(place)
        return (t.read_file(place.out) or ""):find(pattern) ~= nil
    end
end
function tuning.some_time_after(pattern, seconds)
    local seen
    return function(place)
        if tuning.output_has(pattern)(place) then
            seen = seen or t.now()
        end
        return seen and t.now() - seen > seconds
    end
end
return tuning
