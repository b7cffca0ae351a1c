#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A run that is interrupted, at start-up, while it measures or between two comparisons, ends within
-- three seconds, leaves nothing behind, keeps what was measured and says how it ended.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
t.need("nginx")
local cjson = require("cjson")

t.write_file(t.dir .. "/doc.lua", [[
local function comparison(name)
    return { name = name, title = name, page = "echo", expect = { bytes = 12 }, load = { connections = 4 },
        arms = { { stack = "nginx-fcgi-c", documented = { children = 2 } }, { stack = "nginx-lua" } } }
end
return { name = "doc", comparisons = { comparison("first"), comparison("second") } }
]])

local function start(output, slot, rounds)
    local out = t.dir .. "/out-" .. output
    local pid = t.process.spawn { t.root .. "/bench/bench", "run", "-p", "quick", "--slot", slot, "--rounds", rounds, "--plain", "-o",
        t.dir .. "/" .. output, t.dir .. "/doc.lua", stdout = out, stderr = out .. ".err", own_group = true,
        env = { BUILD = t.build, TMPDIR = t.dir, DOCS = false, PROFILE = false, RESULTS = false } }
    return pid, out
end

local function command_lines(pid)
    local list = {}
    for _, child in ipairs(t.process.descendants(pid)) do
        list[#list + 1] = t.process.command(child) or ""
    end
    return table.concat(list, "\n")
end

-- When to strike: a function of the run's output and processes.
local MOMENTS = {
    { name = "at start-up", signal = "HUP", code = 129, slot = "5", rounds = "2", reached = function(pid)
        return command_lines(pid):find("nginx[^\n]* %-c ") -- the stack's own, not the question for its version
    end },
    { name = "while measuring", signal = "INT", code = 130, slot = "5", rounds = "2", reached = function(pid)
        return command_lines(pid):find("load%-client .*5000ms")
    end },
    { name = "between comparisons", signal = "TERM", code = 143, slot = "0.1", rounds = "1", kept = true, reached = function(_, text)
        return text:find("doc: second")
    end },
}

for _, moment in ipairs(MOMENTS) do
    t.case(moment.name, function()
        local output = moment.signal
        local pid, out = start(output, moment.slot, moment.rounds)
        t.ok(t.process.poll(30, function()
            return moment.reached(pid, t.read_file(out) or "")
        end), "the moment comes")
        local began = t.now()
        local how, code = t.process.finish(pid, moment.signal, 10)
        local took = t.now() - began
        t.ok(how == "exited" and code == moment.code, ("exit code %d (%s %s)"):format(moment.code, tostring(how), tostring(code)))
        t.ok(took < 3.5, ("within three seconds (%.1f s)"):format(took))
        local record = cjson.decode(t.read_file(t.dir .. "/" .. output .. "/latest/results.json") or "{}")
        t.is(record.complete, false, "the results say that they are incomplete")
        t.is(record.interrupted, moment.signal, "and by what")
        t.like(t.read_file(t.dir .. "/" .. output .. "/latest/report.html"), "Incomplete", "the report says so")
        if moment.kept then
            t.ok(record.documents[1].parts[1].arms[1].summary, "what was measured is kept")
        end
        local left = t.process.run { "find", t.dir, "-name", "bench-*", "-o", "-name", "*.sock", "-o", "-name", "*.pid" }
        t.is(left.out, "", "no folder, socket or pid file is left")
    end)
end

t.done()
