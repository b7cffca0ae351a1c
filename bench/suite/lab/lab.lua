-- SPDX-License-Identifier: MIT
--
-- A lab: hosts on this machine that are reached like others, by ssh and an inventory. Everything of
-- it carries its name, so that "down" finds it also where no state was saved.
--
--   /var/lib/testbed-NAME/    state.json, inventory, key, known_hosts, hosts/HOST/
--   testbed-NAME-HOST         network namespaces; tb-NAME: this machine's interface
--   testbed-NAME/HOST         control groups

local cjson = require("cjson")
local ffi = require("ffi")
local fcntl = require("posix.fcntl")
local posix_signal = require("posix.signal")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local files = require("bench.suite.system.files")
local lab_host = require("bench.suite.lab.lab_host")
local lab_network = require("bench.suite.lab.lab_network")
local lab_plan = require("bench.suite.lab.lab_plan")
local lab_share = require("bench.suite.lab.lab_share")
local proc = require("bench.suite.system.proc")
local process = require("bench.suite.system.process")

ffi.cdef([[
int flock(int fd, int operation);
]])

local LOCK_EX = 2
local PLACE = "/var/lib"
local OWNER_ONLY = 448
local GONE_S = 10

local lab = {}

local function folder_of(name)
    return ("%s/testbed-%s"):format(PLACE, name)
end

--- Path of the inventory of lab <name>.
function lab.inventory(name)
    return folder_of(name) .. "/inventory"
end

--- What was saved of lab <name>: name, hosts (of lab_plan.hosts, with pid, start_ticks, group),
-- address (this machine's), delay_us, processors, notes. nil when nothing was.
function lab.saved(name)
    local ok, saved = pcall(cjson.decode, files.read(folder_of(name) .. "/state.json") or "")
    return ok and saved or nil
end

local function save(state)
    assert(files.write(folder_of(state.name) .. "/state.json", cjson.encode(state) .. "\n"))
end

--- Whether anything of lab <name> is there, whole or left over.
function lab.exists(name)
    return files.kind(folder_of(name)) ~= nil or #lab_network.namespaces(name) > 0 or #lab_share.groups(name) > 0
end

-- Two labs that come up together must not choose the same network. The lock is on a folder that
-- every machine has; it goes with this descriptor.
local function lock()
    local fd = assert(fcntl.open(PLACE, fcntl.O_RDONLY))
    ffi.C.flock(fd, LOCK_EX)
    return fd
end

local function make_network(state, roles)
    local fd = lock()
    local ok, reason = pcall(function()
        local network = lab_plan.free_network(lab_network.routes())
        if not network then
            error("no free network from 10.213.0.0/24 to 10.213.255.0/24", 0)
        end
        state.hosts, state.address = lab_plan.hosts(state.name, roles, network, folder_of(state.name))
        save(state)
        lab_network.make_switch(state.name, state.address)
    end)
    unistd.close(fd)
    if not ok then
        error(reason, 0)
    end
    for _, host in ipairs(state.hosts) do
        lab_network.make_host(state.name, host)
    end
end

local function note(state, what, why)
    if why then
        state.notes[#state.notes + 1] = ("no %s: %s"):format(what, (why:gsub("%s+$", "")))
    end
end

local function write_access(state, root)
    local folder = folder_of(state.name)
    lab_host.make_key(state.name, folder)
    assert(stat.mkdir(folder .. "/control", OWNER_ONLY))
    local known = {}
    for _, host in ipairs(state.hosts) do
        known[#known + 1] = lab_host.make(host, folder) .. "\n"
    end
    assert(files.write(folder .. "/known_hosts", table.concat(known)))
    assert(files.write(lab.inventory(state.name), lab_plan.inventory(state.name, state.hosts, folder, root)))
end

--- Brings lab <name> up, which must not exist. <roles>: of lab_plan.share_out; <options>: delay_us,
-- processors (nil: none); <root>: the checkout. Returns what lab.saved() would; state.notes has
-- what this kernel lacks. Raises an error; lab.down() then removes what there is.
function lab.up(name, roles, options, root)
    local state = {
        name = name, delay_us = options.delay_us, processors = options.processors, notes = {}, hosts = {},
    }
    assert(stat.mkdir(folder_of(name), OWNER_ONLY))
    make_network(state, roles)
    if options.processors then
        note(state, "processor shares", lab_share.make(name, state.hosts, options.processors))
    end
    if options.delay_us then
        note(state, "delay", lab_network.delay(name, state.hosts, options.delay_us))
    end
    write_access(state, root)
    for _, host in ipairs(state.hosts) do
        lab_host.start(host, root)
        save(state)
    end
    for _, host in ipairs(state.hosts) do
        local ok, reason = lab_host.await(host)
        if not ok then
            error(reason, 0)
        end
    end
    state.up = true
    save(state)
    return state
end

-- ssh's own connection keepers (the inventory sets where their sockets are) and a host that was
-- being started, by what stands in their command lines.
local function strays(name)
    local found, folder = {}, folder_of(name) .. "/"
    for _, pid in ipairs(proc.pids()) do
        local command = proc.command(pid) or ""
        if command:find(folder, 1, true)
            and (command:match("^ssh[: ]") or command:find("/bench/suite/lab/host-init ", 1, true)) then
            found[#found + 1] = pid
        end
    end
    return found
end

-- Everything that runs in the lab, by every way that leads to it.
local function pids_of(name, saved)
    local pids = strays(name)
    local function add(list)
        for _, pid in ipairs(list) do
            pids[#pids + 1] = pid
        end
    end
    for _, host in ipairs(saved and saved.hosts or {}) do
        add(lab_host.alive(host) and { host.pid } or {})
    end
    for _, folder in ipairs(lab_share.groups(name)) do
        add(lab_share.pids(folder))
    end
    for _, namespace in ipairs(lab_network.namespaces(name)) do
        add(lab_network.pids(namespace))
    end
    return pids
end

local function is_zombie(pid)
    local info = proc.parse_stat(files.read("/proc/" .. pid .. "/stat") or "")
    return not info or info.state == "Z"
end

-- Kills until none is left: something may have been forked between the look and the kill.
local function end_processes(name, saved)
    local deadline = process.now() + GONE_S
    while true do
        local left = 0
        for _, pid in ipairs(pids_of(name, saved)) do
            if not is_zombie(pid) then
                left = left + 1
                posix_signal.kill(pid, posix_signal.SIGKILL)
            end
        end
        if left == 0 then
            return true
        elseif process.now() > deadline then
            return nil, ("%d processes do not end by SIGKILL"):format(left)
        end
        process.sleep(0.02)
    end
end

local function unmount(folder)
    for line in (files.read("/proc/self/mountinfo") or ""):gmatch("[^\n]+") do
        local place = line:match("^%S+ %S+ %S+ %S+ (%S+)")
        if place:sub(1, #folder + 1) == folder .. "/" then
            process.run({ "umount", "-l", place })
        end
    end
end

--- Removes all of lab <name>: processes, network, groups, folder; what is there already gone is
-- passed over. True, or nil and what is left.
function lab.down(name)
    local saved = lab.saved(name)
    local ok, reason = end_processes(name, saved)
    lab_share.remove(name)
    lab_network.remove(name)
    unmount(folder_of(name))
    files.remove_tree(folder_of(name))
    if ok and lab.exists(name) then
        ok, reason = nil, "something is left; try again"
    end
    return ok, reason
end

--- State of a saved host: "up", "no sshd" (it runs, but cannot be reached) or "gone".
function lab.look(host)
    return not lab_host.alive(host) and "gone" or lab_host.answers(host, 2) and "up" or "no sshd"
end

return lab
