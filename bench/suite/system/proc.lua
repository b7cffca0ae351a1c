-- SPDX-License-Identifier: MIT
--
-- What /proc says about processes, the loopback interface and the TCP counters (proc(5)).
-- Parsers take text and are pure; readers open the files and return nil for what is gone.

local dirent = require("posix.dirent")
local unistd = require("posix.unistd")

local proc = {}

local TICKS_PER_S = unistd.sysconf(unistd._SC_CLK_TCK)

--- Contents of a file, nil when it cannot be read. For /proc: one read is one consistent text.
function proc.read(path)
    local file = io.open(path, "r")
    if not file then
        return nil
    end
    local text = file:read("*a")
    file:close()
    return text
end

--- A number from a file that holds one, e.g. under /proc/sys; nil when there is none.
function proc.number(path)
    return tonumber((proc.read(path) or ""):match("^%s*(-?%d+)"))
end

--- Text of /proc/PID/stat: {state, ppid, pgrp, user_s, system_s, reaped_user_s, reaped_system_s,
-- threads, start_ticks}. Times have the resolution of the clock tick (10 ms); "reaped" is the
-- time of children that were waited for.
function proc.parse_stat(text)
    local fields = {}
    for word in (text:match("^.*%)%s(.*)$") or ""):gmatch("%S+") do
        fields[#fields + 1] = word
    end
    if #fields < 20 then
        return nil
    end
    local function seconds(index)
        return tonumber(fields[index]) / TICKS_PER_S
    end
    return {
        state = fields[1],
        ppid = tonumber(fields[2]),
        pgrp = tonumber(fields[3]),
        user_s = seconds(12),
        system_s = seconds(13),
        reaped_user_s = seconds(14),
        reaped_system_s = seconds(15),
        threads = tonumber(fields[18]),
        start_ticks = tonumber(fields[20]),
    }
end

--- Value of "Name: number" in texts like /proc/PID/status and smaps_rollup; nil when missing.
function proc.field(text, name)
    return tonumber((("\n" .. text):match("\n" .. name .. ":%s*(%d+)")))
end

--- Numbers of the entries of <path> that are named by a number.
local function numbers_in(path)
    local list = {}
    local ok, iterate, state = pcall(dirent.files, path)
    if not ok then
        return list
    end
    for name in iterate, state do
        local number = tonumber(name)
        if number then
            list[#list + 1] = number
        end
    end
    return list
end

proc.numbers_in = numbers_in

-- Adds a thread's run time in nanoseconds (schedstat, much finer than ticks) and its switches.
local function add_thread(folder, totals)
    local run_ns = (proc.read(folder .. "/schedstat") or ""):match("^(%d+)")
    local status = proc.read(folder .. "/status") or ""
    totals.run_s = totals.run_s + (tonumber(run_ns) or 0) / 1e9
    totals.fine = totals.fine and run_ns ~= nil
    totals.voluntary = totals.voluntary + (proc.field(status, "voluntary_ctxt_switches") or 0)
    totals.involuntary = totals.involuntary + (proc.field(status, "nonvoluntary_ctxt_switches") or 0)
end

--- All about one process: the fields of parse_stat and run_s (CPU time, from schedstat where the
-- kernel has it, else ticks), voluntary, involuntary (context switches of all threads), pss_kib
-- and rss_kib (when <memory>; PSS shares out pages that several processes map). nil when gone.
function proc.process(pid, memory)
    local folder = "/proc/" .. pid
    local info = proc.parse_stat(proc.read(folder .. "/stat") or "")
    if not info then
        return nil
    end
    info.run_s, info.fine, info.voluntary, info.involuntary = 0, true, 0, 0
    if info.threads > 1 then
        for _, tid in ipairs(numbers_in(folder .. "/task")) do
            add_thread(folder .. "/task/" .. tid, info)
        end
    else
        add_thread(folder, info)
    end
    if not info.fine or info.state == "Z" then
        info.run_s = info.user_s + info.system_s
    end
    local rollup = memory and proc.read(folder .. "/smaps_rollup")
    if rollup then
        info.pss_kib, info.rss_kib = proc.field(rollup, "Pss"), proc.field(rollup, "Rss")
    end
    return info
end

--- Pids of the direct children of <pid> (/proc/PID/task/TID/children), in no order.
function proc.children(pid)
    local list = {}
    for _, tid in ipairs(numbers_in("/proc/" .. pid .. "/task")) do
        for child in (proc.read(("/proc/%d/task/%d/children"):format(pid, tid)) or ""):gmatch("%d+") do
            list[#list + 1] = tonumber(child)
        end
    end
    return list
end

--- <pid> and all its descendants.
function proc.tree(pid)
    local list = { pid }
    local index = 1
    while list[index] do
        for _, child in ipairs(proc.children(list[index])) do
            list[#list + 1] = child
        end
        index = index + 1
    end
    return list
end

--- All processes.
function proc.pids()
    return numbers_in("/proc")
end

--- Command line of a process as one text, arguments separated by blanks; nil when gone.
function proc.command(pid)
    local text = proc.read(("/proc/%d/cmdline"):format(pid))
    return text and (text:gsub("%z+$", ""):gsub("%z", " "))
end

local LISTENING, TAKES_CONNECTIONS = "0A", "00010000" -- TCP_LISTEN; __SO_ACCEPTCON

--- Inodes of the sockets that listen in a network, from its texts of net/tcp, net/tcp6 and net/unix
-- (proc_pid_net(5)): a set. Pure.
function proc.parse_listening(tcp, tcp6, unix)
    local inodes = {}
    for _, text in ipairs({ tcp, tcp6 }) do
        for line in text:gmatch("[^\n]+") do
            local state, inode = line:match("^%s*%d+: %S+ %S+ (%x%x) %S+ %S+ %S+%s+%d+%s+%d+ (%d+)")
            if state == LISTENING then
                inodes[inode] = true
            end
        end
    end
    for line in unix:gmatch("[^\n]+") do
        local flags, inode = line:match("^%S+ %S+ %S+ (%S+) %S+ %S+ +(%d+)")
        if flags == TAKES_CONNECTIONS then
            inodes[inode] = true
        end
    end
    return inodes
end

--- The same for the network that <pid> lives in.
function proc.listening(pid)
    local net = ("/proc/%d/net/"):format(pid)
    return proc.parse_listening(proc.read(net .. "tcp") or "", proc.read(net .. "tcp6") or "", proc.read(net .. "unix") or "")
end

--- Has <pid> one of the sockets <inodes> (a set) open?
function proc.holds(pid, inodes)
    local folder = ("/proc/%d/fd"):format(pid)
    for _, fd in ipairs(numbers_in(folder)) do
        local target = unistd.readlink(folder .. "/" .. fd)
        local inode = target and target:match("^socket:%[(%d+)%]$")
        if inode and inodes[inode] then
            return true
        end
    end
    return false
end

--- Text of /proc/net/dev: {rx_bytes, rx_packets, tx_bytes, tx_packets} of <interface>, or nil.
function proc.parse_interface(text, interface)
    local line = ("\n" .. text):match("\n%s*" .. interface:gsub("%p", "%%%0") .. ":%s*([^\n]*)")
    if not line then
        return nil
    end
    local fields = {}
    for number in line:gmatch("%d+") do
        fields[#fields + 1] = tonumber(number)
    end
    return { rx_bytes = fields[1], rx_packets = fields[2], tx_bytes = fields[9], tx_packets = fields[10] }
end

--- Counters of the loopback interface; on it each byte is both sent and received.
function proc.loopback()
    return proc.parse_interface(proc.read("/proc/net/dev") or "", "lo")
end

--- Text of /proc/net/netstat: the counters of one section ("TcpExt") by name.
function proc.parse_netstat(text, section)
    local names, values = text:match(section .. ": ([%a][^\n]*)\n" .. section .. ": ([^\n]*)")
    local counters, list = {}, {}
    for value in (values or ""):gmatch("%S+") do
        list[#list + 1] = tonumber(value)
    end
    for name in (names or ""):gmatch("%S+") do
        counters[name] = table.remove(list, 1)
    end
    return counters
end

--- The kernel's TCP extension counters, by their kernel names; of the whole network namespace.
function proc.tcp_ext()
    return proc.parse_netstat(proc.read("/proc/net/netstat") or "", "TcpExt")
end

return proc
