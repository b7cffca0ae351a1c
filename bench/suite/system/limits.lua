-- SPDX-License-Identifier: MIT
--
-- What this process may use of the machine: processors (affinity and the quotas of control groups),
-- memory (the machine's and that of the control groups), and how often a quota held it back. The one
-- place that knows; doctor, tune, run and the reports ask here. Control groups of both versions, at
-- all levels from the process's own up to the root (cgroups(7); the kernel's cgroup-v1/memory.rst,
-- scheduler/sched-bwc.rst, cgroup-v2.rst).
--
-- Every function takes <read>(path), which returns a file's text or nil; default: the system's files.

local proc = require("bench.suite.system.proc")

local limits = {}

-- A limit of v1 that is none: the largest multiple of a page below 2^63.
local NO_LIMIT_BYTES = 2 ^ 60

local function number(text)
    return text and tonumber(text:match("^%s*(-?%d+)"))
end

-- Mounted hierarchies of control groups: {version, root (of the hierarchy, what is mounted), folder,
-- controllers (v1: set of names)}, from the text of /proc/self/mountinfo.
local function hierarchies(text)
    local list = {}
    for line in text:gmatch("[^\n]+") do
        local root, folder, kind, options = line:match("^%S+ %S+ %S+ (%S+) (%S+) .- %- (cgroup2?) %S+ (%S+)")
        if root then
            local controllers = {}
            for name in options:gmatch("[^,]+") do
                controllers[name] = true
            end
            list[#list + 1] = { version = kind == "cgroup2" and 2 or 1, root = root, folder = folder, controllers = controllers }
        end
    end
    return list
end

-- Path of this process in a hierarchy, from the text of /proc/self/cgroup.
local function path_in(hierarchy, text)
    for id, controllers, path in text:gmatch("(%d+):([^:\n]*):([^\n]*)") do
        if hierarchy.version == 2 and id == "0" and controllers == "" then
            return path
        end
        for name in controllers:gmatch("[^,]+") do
            if hierarchy.version == 1 and hierarchy.controllers[name] then
                return path
            end
        end
    end
end

-- Folders of the groups that <controller> limits this process by, the innermost first: {folder, name,
-- version}. A group outside what is mounted (a container's view) ends at the mount.
local function groups(controller, read)
    local list = {}
    local text = read("/proc/self/cgroup") or ""
    for _, hierarchy in ipairs(hierarchies(read("/proc/self/mountinfo") or "")) do
        local path = path_in(hierarchy, text)
        if path and (hierarchy.version == 2 or hierarchy.controllers[controller]) then
            local root = hierarchy.root == "/" and "" or hierarchy.root
            local below = path:sub(1, #root) == root and path:sub(#root + 1) or ""
            below = below:find("..", 1, true) and "" or below:gsub("/$", "")
            repeat
                list[#list + 1] = { folder = hierarchy.folder .. below, name = below ~= "" and below or "/", version = hierarchy.version }
                below = below ~= "" and below:match("^(.*)/[^/]*$") or nil
            until not below
        end
    end
    return list
end

local function quota_of(group, read)
    local quota, period
    if group.version == 2 then
        quota, period = (read(group.folder .. "/cpu.max") or ""):match("^(%d+) (%d+)")
        quota, period = tonumber(quota), tonumber(period)
    else
        quota, period = number(read(group.folder .. "/cpu.cfs_quota_us")), number(read(group.folder .. "/cpu.cfs_period_us"))
    end
    return quota and period and quota > 0 and period > 0 and quota / period or nil
end

-- "0-3,8" as a set; nil for no text.
local function cpu_set(text)
    if not text then
        return nil
    end
    local set = {}
    for first, last in text:gmatch("(%d+)%-?(%d*)") do
        for cpu = tonumber(first), tonumber(last) or tonumber(first) do
            set[cpu] = true
        end
    end
    return set
end

--- Processors: {affinity (whole ones that this process may run on), quota (processors' worth of time that
-- the tightest control group allows; nil without one), group (its name), usable (the smaller of the two)}.
function limits.processors(read)
    read = read or proc.read
    local allowed = cpu_set((read("/proc/self/status") or ""):match("Cpus_allowed_list:%s*(%S+)")) or {}
    local online = cpu_set(read("/sys/devices/system/cpu/online")) or allowed
    local result = { affinity = 0 }
    for cpu in pairs(allowed) do
        result.affinity = result.affinity + (online[cpu] and 1 or 0)
    end
    result.affinity = math.max(1, result.affinity)
    for _, group in ipairs(groups("cpu", read)) do
        local quota = quota_of(group, read)
        if quota and quota < (result.quota or math.huge) then
            result.quota, result.group = quota, group.name
        end
    end
    result.usable = math.min(result.affinity, result.quota or math.huge)
    return result
end

--- The processors of limits.processors() as words: "2 processors", "0.5 of 2 processors (quota of the
-- control group /a)".
function limits.text(processors)
    local all = ("%d processor%s"):format(processors.affinity, processors.affinity == 1 and "" or "s")
    if not processors.quota or processors.quota >= processors.affinity then
        return all
    end
    return ("%.4g of %s (quota of the control group %s)"):format(processors.quota, all, processors.group)
end

-- Bytes of a group: its limit and what of it is free, cache that can be dropped counted as free; nil
-- without a limit.
local function memory_of(group, read)
    local two = group.version == 2
    local limit = number(read(group.folder .. (two and "/memory.max" or "/memory.limit_in_bytes")))
    local high = two and number(read(group.folder .. "/memory.high")) or nil
    limit = math.min(limit or math.huge, high or math.huge)
    if limit >= NO_LIMIT_BYTES then
        return nil
    end
    local used = number(read(group.folder .. (two and "/memory.current" or "/memory.usage_in_bytes"))) or 0
    local cache = tonumber((read(group.folder .. "/memory.stat") or ""):match(two and "%f[%w_]inactive_file (%d+)"
        or "total_inactive_file (%d+)")) or 0
    return limit, math.max(0, limit - math.max(0, used - cache))
end

--- Memory in KiB: {total_kib, available_kib: what programs can have now, of the machine and of every
-- control group above this process; limit_kib, group: the tightest limit of a group and its name, nil without one}.
function limits.memory(read)
    read = read or proc.read
    local text = read("/proc/meminfo") or ""
    local result = { total_kib = proc.field(text, "MemTotal"), available_kib = proc.field(text, "MemAvailable") or 0 }
    for _, group in ipairs(groups("memory", read)) do
        local limit, free = memory_of(group, read)
        if limit then
            result.available_kib = math.min(result.available_kib, free / 1024)
            if limit / 1024 < (result.limit_kib or math.huge) then
                result.limit_kib, result.group = limit / 1024, group.name
            end
        end
    end
    return result
end

--- Counters of the control groups with a quota, for limits.throttled(): group name -> {periods, throttled}.
function limits.counters(read)
    read = read or proc.read
    local counters = {}
    for _, group in ipairs(groups("cpu", read)) do
        if quota_of(group, read) then
            local text = read(group.folder .. "/cpu.stat") or ""
            counters[group.name] = { periods = tonumber(text:match("nr_periods (%d+)")) or 0,
                throttled = tonumber(text:match("nr_throttled (%d+)")) or 0 }
        end
    end
    return counters
end

--- How a quota held this process back between two looks of limits.counters(): {group, throttled, periods,
-- share (throttled / periods)} of the group that did it most; nil when none did.
function limits.throttled(before, after)
    local worst
    for name, now in pairs(after) do
        local then_ = before[name] or { periods = 0, throttled = 0 }
        local periods, throttled = now.periods - then_.periods, now.throttled - then_.throttled
        if throttled > 0 and periods > 0 and (not worst or throttled / periods > worst.share) then
            worst = { group = name, throttled = throttled, periods = periods, share = throttled / periods }
        end
    end
    return worst
end

--- What limits.throttled() returned as words.
function limits.throttled_text(seen)
    return ("the quota of the control group %s stopped the programs in %d of %d periods"):format(seen.group, seen.throttled,
        seen.periods)
end

return limits
