-- The other programs of the machine: who listens at a port, and who used the processors while something
-- was measured. Reads /proc.

local unistd = require("posix.unistd")
local proc = require("bench.suite.system.proc")

local neighbours = {}

local LISTEN = "0A" -- state in /proc/net/tcp
-- Programs that are known by what they run.
local INTERPRETERS = { python = true, python3 = true, perl = true, ruby = true, node = true, php = true, luajit = true, lua = true,
    bash = true, sh = true, java = true, env = true }

--- The name of <pid> as people know it: its program, for an interpreter with the script; nil when it is gone or
-- belongs to the kernel.
function neighbours.name(pid)
    local words = {}
    for word in (proc.command(pid) or ""):gmatch("%S+") do
        words[#words + 1] = word
    end
    local program = (words[1] or ""):match("([^/]+):?$")
    if not program then
        return nil
    end
    local script = INTERPRETERS[program:gsub("[%d.]+$", "")] or INTERPRETERS[program]
    for i = 2, script and #words or 1 do
        if words[i]:sub(1, 1) ~= "-" then
            return program .. " " .. words[i]:match("([^/]*)$"):sub(1, 40)
        end
    end
    return program:sub(1, 40)
end

-- Inodes of the sockets that listen at TCP port <port>, as a set.
local function listening_inodes(port)
    local found, wanted = {}, (":%04X"):format(port)
    for _, path in ipairs({ "/proc/net/tcp", "/proc/net/tcp6" }) do
        for address, state, inode in (proc.read(path) or ""):gmatch("\n%s*%d+: (%x+:%x+) %x+:%x+ (%x%x) %S+ %S+ %S+ +%d+ +%d+ (%d+)") do
            if state == LISTEN and address:sub(-5) == wanted then
                found["socket:[" .. inode .. "]"] = true
            end
        end
    end
    return found
end

--- Processes that hold a socket listening at TCP port <port> of this machine, with their descendants. Empty when
-- nobody does, or when the kernel does not let us look.
function neighbours.listening(port)
    local inodes, pids, seen = listening_inodes(port), {}, {}
    if not next(inodes) then
        return pids
    end
    for _, pid in ipairs(proc.pids()) do
        for _, fd in ipairs(proc.numbers_in("/proc/" .. pid .. "/fd")) do
            if inodes[unistd.readlink(("/proc/%d/fd/%d"):format(pid, fd)) or ""] then
                for _, member in ipairs(proc.tree(pid)) do
                    if not seen[member] then
                        seen[member], pids[#pids + 1] = true, member
                    end
                end
                break
            end
        end
    end
    return pids
end

--- This process, all that it started, and those that it descends from, as a set: none of them is a program of
-- the user's, whatever its command line says.
function neighbours.ours()
    local set, pid = {}, unistd.getpid()
    for _, member in ipairs(proc.tree(pid)) do
        set[member] = true
    end
    while pid and pid > 1 do
        local info = proc.parse_stat(proc.read(("/proc/%d/stat"):format(pid)) or "")
        pid = info and info.ppid
        if pid then
            set[pid] = true
        end
    end
    return set
end

--- Processor time of every process so far: {pid = {cpu_s, start}}.
function neighbours.look()
    local seen = {}
    for _, pid in ipairs(proc.pids()) do
        local info = proc.parse_stat(proc.read(("/proc/%d/stat"):format(pid)) or "")
        if info then
            seen[pid] = { cpu_s = info.user_s + info.system_s, start = info.start_ticks }
        end
    end
    return seen
end

--- Who used the processors between two looks, the busiest first: list of {name, cpu_s}, programs of one name
-- together. <but>: a set of pids to leave out. Processes that have ended meanwhile are not seen.
function neighbours.busy(before, after, but)
    local by_name, list = {}, {}
    for pid, now in pairs(after) do
        local old = before[pid]
        local cpu_s = now.cpu_s - (old and old.start == now.start and old.cpu_s or 0)
        local name = cpu_s > 0 and not but[pid] and neighbours.name(pid)
        if name then
            by_name[name] = (by_name[name] or 0) + cpu_s
        end
    end
    for name, cpu_s in pairs(by_name) do
        list[#list + 1] = { name = name, cpu_s = cpu_s }
    end
    table.sort(list, function(a, b)
        return a.cpu_s > b.cpu_s or a.cpu_s == b.cpu_s and a.name < b.name
    end)
    return list
end

return neighbours
