#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Each condition that spoils a measurement is found and comes with a remedy.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local doctor = require("bench.suite.system.doctor")

local function facts(changes)
    local f = {
        cpus = 8, load = 0.1, busy = {}, steal = 0, clock = "tsc", somaxconn = 4096, syn_backlog = 4096,
        governors = { performance = 8 }, turbo = "off", ports = { low = 32768, high = 60999 }, tw_reuse = 2,
        time_wait = 0, files = { soft = 65536, hard = 65536 }, pids_max = 4194304, available_kib = 8388608,
        swap_used_kib = 0, listeners = {}, schedstat = true, pss = true, queues = true,
    }
    for key, value in pairs(changes) do
        f[key] = value
    end
    return f
end

local quiet = doctor.judge(facts({}))
t.is(doctor.worst(quiet), "ok", "a quiet machine is fine")
local remedies = 0
for _, item in ipairs(quiet) do
    remedies = remedies + (item.remedy and 1 or 0)
end
t.is(remedies, 0, "and needs no remedy")

local CASES = {
    { { governors = { powersave = 7, performance = 1 } }, "governor", "bad" },
    { { governors = {} }, "governor", "ok" },
    { { turbo = "on" }, "turbo", "note" },
    { { load = 6 }, "load average", "bad" },
    { { busy = { { command = "cc1", share = 3 } } }, "other programs", "bad" },
    { { steal = 0.1 }, "stolen time", "bad" },
    { { clock = "hpet" }, "clock source", "bad" },
    { { somaxconn = 128 }, "somaxconn", "bad" },
    { { syn_backlog = 128 }, "SYN backlog", "note" },
    { { tw_reuse = 0 }, "local ports", "bad" },
    { { ports = { low = 60000, high = 60999 } }, "local ports", "bad" },
    { { time_wait = 20000 }, "TIME_WAIT", "note" },
    { { files = { soft = 1024, hard = 4096 } }, "descriptors", "bad" },
    { { cgroup_cpus = 1.5 }, "CPU limit", "bad" },
    { { container = "docker" }, "container", "note" },
    { { swap_used_kib = 1048576 }, "memory", "bad" },
    { { available_kib = 1000 }, "memory", "bad" },
    { { listeners = { 80, 9000 } }, "other listeners", "note" },
    { { queues = false }, "measuring", "note" },
    { { cpus = 2 }, "processors", "note" },
}
for _, case in ipairs(CASES) do
    local changed = next(case[1])
    local list = doctor.judge(facts(case[1]))
    for _, item in ipairs(list) do
        if item.name == case[2] then
            t.ok(item.level == case[3] and (item.level == "ok" or item.remedy),
                ("%s: %s is %s"):format(item.name, changed, item.level))
        end
    end
    t.is(doctor.worst(list), case[3], "which decides the verdict (" .. case[2] .. ")")
    t.like(doctor.text(list), case[2], "and stands in the report (" .. case[2] .. ")")
end
local here = doctor.judge(doctor.facts(0.05))
t.is(#here, #quiet, "this machine can be examined: " .. doctor.worst(here))
t.done()
