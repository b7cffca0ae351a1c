#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Processors and memory that control groups allow: both versions, all levels, a container's view; and how
-- often a quota held back.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local doctor = require("bench.suite.system.doctor")
local limits = require("bench.suite.system.limits")
local process = t.process

local V1 = "30 23 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    .. "31 23 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
local V2 = "30 23 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
local MIB = 1048576

-- A system of a few files.
local function system(files)
    files["/proc/self/status"] = "Name:\tx\nCpus_allowed_list:\t" .. (files.allowed or "0-3") .. "\n"
    files["/sys/devices/system/cpu/online"] = files.online or "0-3\n"
    files["/proc/meminfo"] = "MemTotal:       16777216 kB\nMemAvailable:   8388608 kB\n"
    return function(path)
        return files[path]
    end
end

t.case("processors", function()
    local free = limits.processors(system({}))
    t.is(free.affinity .. " " .. tostring(free.quota) .. " " .. free.usable, "4 nil 4", "without groups: the affinity")
    t.is(limits.text(free), "4 processors", "in words")
    t.is(limits.processors(system({ allowed = "0,2-127" })).affinity, 3, "processors that are possible and not there do not count")
    for version, files in pairs({
        ["version 1"] = { ["/proc/self/cgroup"] = "4:memory:/\n3:cpu,cpuacct:/a/b\n", ["/proc/self/mountinfo"] = V1,
            ["/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us"] = "-1\n", ["/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us"] = "100000\n",
            ["/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us"] = "50000\n", ["/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us"] = "100000\n" },
        ["version 2"] = { ["/proc/self/cgroup"] = "0::/a/b\n", ["/proc/self/mountinfo"] = V2,
            ["/sys/fs/cgroup/a/b/cpu.max"] = "max 100000\n", ["/sys/fs/cgroup/a/cpu.max"] = "50000 100000\n" },
        ["a container's view"] = { ["/proc/self/cgroup"] = "0::/\n", ["/proc/self/mountinfo"] = V2,
            ["/sys/fs/cgroup/cpu.max"] = "50000 100000\n" },
        ["version 1 in a container without a namespace"] = { ["/proc/self/cgroup"] = "3:cpu,cpuacct:/docker/123\n",
            ["/proc/self/mountinfo"] = (V1:gsub("0:29 /", "0:29 /docker/123")),
            ["/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us"] = "50000\n", ["/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us"] = "100000\n" },
        ["a group outside the view"] = { ["/proc/self/cgroup"] = "0::/../other\n", ["/proc/self/mountinfo"] = V2,
            ["/sys/fs/cgroup/cpu.max"] = "50000 100000\n" },
    }) do
        local seen = limits.processors(system(files))
        t.is(seen.quota .. " " .. seen.usable, "0.5 0.5", version .. ": half a processor")
        t.like(limits.text(seen), "^0%.5 of 4 processors %(quota of the control group /", version .. ": in words")
    end
    local wide = limits.processors(system({ ["/proc/self/cgroup"] = "0::/a\n", ["/proc/self/mountinfo"] = V2,
        ["/sys/fs/cgroup/a/cpu.max"] = "900000 100000\n" }))
    t.is(wide.usable .. " " .. limits.text(wide), "4 4 processors", "a quota above the affinity limits nothing")
end)

t.case("memory", function()
    t.is(limits.memory(system({})).available_kib, 8388608, "without groups: the machine's")
    for version, files in pairs({
        ["version 1"] = { ["/proc/self/cgroup"] = "4:memory:/a/b\n", ["/proc/self/mountinfo"] = V1,
            ["/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes"] = "9223372036854771712\n",
            ["/sys/fs/cgroup/memory/a/memory.limit_in_bytes"] = tostring(256 * MIB), ["/sys/fs/cgroup/memory/a/memory.usage_in_bytes"] = tostring(100 * MIB),
            ["/sys/fs/cgroup/memory/a/memory.stat"] = "inactive_file 1\ntotal_inactive_file " .. 40 * MIB .. "\n" },
        ["version 2"] = { ["/proc/self/cgroup"] = "0::/a/b\n", ["/proc/self/mountinfo"] = V2,
            ["/sys/fs/cgroup/a/b/memory.max"] = "max\n",
            ["/sys/fs/cgroup/a/memory.max"] = tostring(512 * MIB), ["/sys/fs/cgroup/a/memory.high"] = tostring(256 * MIB),
            ["/sys/fs/cgroup/a/memory.current"] = tostring(100 * MIB), ["/sys/fs/cgroup/a/memory.stat"] = "anon 5\ninactive_file " .. 40 * MIB .. "\n" },
    }) do
        local seen = limits.memory(system(files))
        t.is(seen.available_kib .. " " .. seen.limit_kib .. " " .. seen.group, 196 * 1024 .. " " .. 256 * 1024 .. " /a",
            version .. ": what the group has left, cache that can be dropped included")
    end
end)

t.case("throttling", function()
    local files = { ["/proc/self/cgroup"] = "0::/a\n", ["/proc/self/mountinfo"] = V2, ["/sys/fs/cgroup/a/cpu.max"] = "50000 100000\n",
        ["/sys/fs/cgroup/a/cpu.stat"] = "usage_usec 1\nnr_periods 10\nnr_throttled 2\nthrottled_usec 5\n" }
    local before = limits.counters(system(files))
    t.is(limits.throttled(before, before), nil, "none")
    files["/sys/fs/cgroup/a/cpu.stat"] = "nr_periods 207\nnr_throttled 185\n"
    t.is(limits.throttled_text(limits.throttled(before, limits.counters(system(files)))),
        "the quota of the control group /a stopped the programs in 183 of 197 periods", "counted between two looks")
end)

-- A real group, where this test may make one.
t.case("a group of this machine", function()
    local folder = "/sys/fs/cgroup/cpu/limits-" .. require("posix.unistd").getpid()
    if not require("posix.sys.stat").mkdir(folder) then
        return t.skip("a real quota", "no control group (version 1) can be made here")
    end
    local function set(name, value)
        local file = assert(io.open(folder .. "/" .. name, "w"))
        file:write(value)
        assert(file:close())
    end
    set("cpu.cfs_period_us", "100000")
    set("cpu.cfs_quota_us", "10000") -- so little that a busy machine gives more
    local script = ([[echo $$ > '%s/cgroup.procs'; cd '%s' && exec luajit -e '
        package.path = "./?.lua;" .. package.path
        local limits = require("bench.suite.system.limits")
        local before = limits.counters()
        local till = os.clock() + 0.1
        while os.clock() < till do end
        print(limits.processors().usable, limits.throttled(before, limits.counters()) ~= nil)']]):format(folder, t.root)
    local run = process.run { "sh", "-c", script, timeout = 30 }
    t.is(run.out, "0.1\ttrue\n", "a tenth of a processor, and held back", run.err)
    local facts = doctor.judge(doctor.facts(0.01))
    t.ok(#facts > 0, "doctor asks the same place")
    process.poll(5, function()
        return require("posix.unistd").rmdir(folder)
    end)
end)

t.done()
