-- SPDX-License-Identifier: MIT
--
-- Processor shares of a lab's hosts: one control group each, of version 1 or 2, whichever has the
-- cpu controller on this kernel (Documentation/scheduler/sched-bwc.rst, cgroup-v2.rst).

local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local files = require("bench.suite.system.files")
local process = require("bench.suite.system.process")

-- A host that has used up its share waits for the rest of the period: short, so that no answer
-- waits long. The kernel takes no quota below 1 ms.
local PERIOD_US, LEAST_QUOTA_US = 10000, 1000
local REMOVE_S = 5

local lab_share = {}

--- Where the cpu controller is: {version, folder}, from the text of /proc/self/mountinfo and
-- <read>(path), which returns a file's text or nil. nil and a reason when this kernel has none.
function lab_share.find(mountinfo, read)
    local second
    for line in mountinfo:gmatch("[^\n]+") do
        local folder, kind, options = line:match("^%S+ %S+ %S+ %S+ (%S+) .* %- (cgroup2?) %S+ (%S+)")
        if kind == "cgroup" and ("," .. options .. ","):find(",cpu,", 1, true) then
            return { version = 1, folder = folder }
        elseif kind == "cgroup2" then
            second = folder
        end
    end
    if not second then
        return nil, "no control groups are mounted"
    elseif not (" " .. (read(second .. "/cgroup.controllers") or "") .. " "):find("%scpu%s") then
        return nil, "the control groups here have no cpu controller"
    end
    return { version = 2, folder = second }
end

--- Quota and period in microseconds for <share> processors (0.5 is half of one).
function lab_share.quota(share)
    local period = math.max(PERIOD_US, math.ceil(LEAST_QUOTA_US / share))
    return math.floor(share * period + 0.5), period
end

local function find()
    return lab_share.find(files.read("/proc/self/mountinfo") or "", files.read)
end

local function group(place, name)
    return place.folder .. "/testbed-" .. name
end

-- Control files are written in place: a new file cannot take their place.
local function put(path, text)
    local file, reason = io.open(path, "w")
    if not file then
        return nil, reason
    end
    file:setvbuf("no")
    local ok, why = file:write(text)
    file:close()
    return ok, ok and nil or path .. ": " .. tostring(why)
end

-- Version 2 hands a controller down only where the group above says so.
local function hand_down(folder)
    if (" " .. (files.read(folder .. "/cgroup.subtree_control") or "") .. " "):find("%scpu%s") then
        return true
    end
    return put(folder .. "/cgroup.subtree_control", "+cpu")
end

local function make(folder)
    local ok, reason = stat.mkdir(folder, 493)
    return ok or files.kind(folder) == "folder", reason
end

local function limit(place, folder, share)
    local quota, period = lab_share.quota(share)
    if place.version == 2 then
        return put(folder .. "/cpu.max", ("%d %d"):format(quota, period))
    end
    local ok, reason = put(folder .. "/cpu.cfs_period_us", tostring(period))
    if ok then
        ok, reason = put(folder .. "/cpu.cfs_quota_us", tostring(quota))
    end
    return ok, reason
end

--- A control group with <share> processors for each of <hosts>, whose field "group" becomes its
-- folder. nil, or why there are none: the lab then stands without shares.
function lab_share.make(name, hosts, share)
    local place, reason = find()
    if not place then
        return reason
    end
    local above = group(place, name)
    local ok = true
    if place.version == 2 then
        ok, reason = hand_down(place.folder)
    end
    if ok then
        ok, reason = make(above)
    end
    if ok and place.version == 2 then
        ok, reason = hand_down(above)
    end
    for _, host in ipairs(hosts) do
        local folder = above .. "/" .. host.name
        if ok then
            ok, reason = make(folder)
        end
        if ok then
            ok, reason = limit(place, folder, share)
        end
        host.group = ok and folder or nil
    end
    if not ok then
        for _, host in ipairs(hosts) do
            host.group = nil
        end
        lab_share.remove(name)
        return reason
    end
end

--- Puts the calling process into the group of <host>; nothing when it has none.
function lab_share.enter(host)
    return not host.group or put(host.group .. "/cgroup.procs", tostring(unistd.getpid()))
end

--- Folders of the groups of lab <name>, the innermost first.
function lab_share.groups(name)
    local list = {}
    local place = find()
    local above = place and group(place, name)
    if above and files.kind(above) == "folder" then
        for _, one in ipairs(files.list(above)) do
            if files.kind(above .. "/" .. one) == "folder" then
                list[#list + 1] = above .. "/" .. one
            end
        end
        list[#list + 1] = above
    end
    return list
end

--- Pids in <folder>, one of lab_share.groups().
function lab_share.pids(folder)
    local pids = {}
    for number in (files.read(folder .. "/cgroup.procs") or ""):gmatch("%d+") do
        pids[#pids + 1] = tonumber(number)
    end
    return pids
end

--- Removes the groups of lab <name>, whose processes have been killed. The kernel refuses until the
-- last of them is gone.
function lab_share.remove(name)
    local deadline = process.now() + REMOVE_S
    while true do
        local groups = lab_share.groups(name)
        for _, folder in ipairs(groups) do
            unistd.rmdir(folder)
        end
        if #groups == 0 or process.now() > deadline then
            return
        end
        process.sleep(0.005)
    end
end

return lab_share
