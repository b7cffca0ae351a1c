-- SPDX-License-Identifier: MIT
--
-- process.lua - starts, watches and ends real programs for the tests.
--
--   process.spawn{"prog", "arg", stdout = path, stderr = path, stdin = path,
--                 env = {NAME = "value" or false}, cwd = dir, fds = {[3] = fd},
--                 nofile = number, own_group = true}          -> pid
--   process.run{"prog", "arg", input = text, timeout = s, ...} -> {status, signal, out, err, timed_out}
--   process.wait(pid, seconds) -> "exited" | "killed", number; nil when the time is over
--   process.finish(pid, signal, seconds) -> as wait(), after sending the signal
--   process.alive(pid), process.children(pid), process.descendants(pid)
--   process.fds(pid), process.rss_kib(pid), process.cpu_ms(pid), process.state(pid)
--   process.now() -> monotonic seconds; process.poll(seconds, check) -> what check returned
--
-- What was spawned and still lives when the test ends is killed by testing.lua.

local ffi = require("ffi")
local fcntl = require("posix.fcntl")
local signal = require("posix.signal")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")
local poll = require("posix.poll")

ffi.cdef [[
struct timespec_t { long tv_sec; long tv_nsec; };
int clock_gettime(int clock, struct timespec_t *time);
struct rlimit_t { unsigned long now; unsigned long most; };
int setrlimit(int resource, const struct rlimit_t *limit);
int getrlimit(int resource, struct rlimit_t *limit);
int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int close_range(unsigned int first, unsigned int last, int flags);
int unsetenv(const char *name);
]]

local RLIMIT_NOFILE = 7
local PR_SET_CHILD_SUBREAPER = 36
local CLOCK_MONOTONIC = 1

local process = { spawned = {} }

-- Orphans of a tested program become ours, so that none goes unnoticed.
function process.become_reaper()
    ffi.C.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
end
process.become_reaper()

local time = ffi.new("struct timespec_t")

function process.now()
    ffi.C.clock_gettime(CLOCK_MONOTONIC, time)
    return tonumber(time.tv_sec) + tonumber(time.tv_nsec) / 1e9
end

-- Waits without being asked for by any descriptor; the unit of every poll loop.
function process.pause(seconds)
    poll.poll({}, math.max(1, math.floor(seconds * 1000)))
end

-- Calls <check> every few milliseconds until it returns a true value, which is
-- returned; nil when <seconds> have passed.
function process.poll(seconds, check)
    local limit = process.now() + seconds
    local pause = 0.002
    while true do
        local result = check()
        if result then
            return result
        end
        if process.now() >= limit then
            return nil
        end
        process.pause(pause)
        pause = math.min(pause * 1.5, 0.05)
    end
end

function process.read_file(path)
    local file = io.open(path, "rb")
    if not file then
        return nil
    end
    local text = file:read("*a")
    file:close()
    return text
end

function process.write_file(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    assert(file:close())
    return path
end

local function open(path, flags)
    local fd, message = fcntl.open(path, flags, 420)
    if not fd then
        error(message)
    end
    return fd
end

local function redirect(source, target, flags)
    local fd = type(source) == "number" and source or open(source, flags)
    unistd.dup2(fd, target)
end

local function set_nofile(count)
    local limit = ffi.new("struct rlimit_t")
    ffi.C.getrlimit(RLIMIT_NOFILE, limit)
    limit.now = count
    if limit.most < count then
        limit.most = count
    end
    if ffi.C.setrlimit(RLIMIT_NOFILE, limit) ~= 0 then
        error("cannot set the limit of open files to " .. count)
    end
end

-- Runs in the child: never returns.
local function become(options)
    local append = fcntl.O_WRONLY + fcntl.O_CREAT + fcntl.O_APPEND
    if options.own_group then
        unistd.setpid("p", 0, 0)
    end
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    redirect(options.stdin or "/dev/null", 0, fcntl.O_RDONLY)
    redirect(options.stdout or "/dev/null", 1, append)
    redirect(options.stderr or options.stdout or "/dev/null", 2, append)
    -- Two steps, so that a target does not overwrite a source.
    local moved, highest = {}, 2
    for target, source in pairs(options.fds or {}) do
        moved[target] = fcntl.fcntl(source, fcntl.F_DUPFD, 200)
    end
    for target, source in pairs(moved) do
        unistd.dup2(source, target)
        highest = math.max(highest, target)
    end
    if not options.keep_fds then
        ffi.C.close_range(highest + 1, 0xffffffff, 0)
    end
    for name, value in pairs(options.env or {}) do
        if value then
            stdlib.setenv(name, value)
        else
            ffi.C.unsetenv(name)
        end
    end
    if options.cwd then
        unistd.chdir(options.cwd)
    end
    if options.nofile then
        set_nofile(options.nofile)
    end
    local argv = {}
    for index = 2, #options do
        argv[index - 1] = tostring(options[index])
    end
    local _, message = unistd.execp(options[1], argv)
    io.stderr:write("cannot run ", options[1], ": ", message or "?", "\n")
    unistd._exit(127)
end

function process.spawn(options)
    io.stdout:flush()
    io.stderr:flush()
    local pid = assert(unistd.fork())
    if pid == 0 then
        local good, message = pcall(become, options)
        if not good then
            io.stderr:write(tostring(message), "\n")
        end
        unistd._exit(126)
    end
    process.spawned[pid] = options[1]
    return pid
end

function process.wait(pid, seconds)
    return unpack(process.poll(seconds, function()
        local got, how, code = wait.wait(pid, wait.WNOHANG)
        if got == pid and how ~= "running" then
            process.spawned[pid] = nil
            return { how, code }
        elseif not got and how then
            return { "gone", 0 } -- not our child, or waited for already
        end
    end) or {})
end

function process.kill(pid, name)
    return signal.kill(pid, signal["SIG" .. (name or "TERM")])
end

function process.finish(pid, name, seconds)
    process.kill(pid, name)
    return process.wait(pid, seconds or 5)
end

local function drain(fd, parts)
    local data = unistd.read(fd, 65536)
    if data and #data > 0 then
        parts[#parts + 1] = data
        return true
    end
    unistd.close(fd)
    return false
end

local function feed(fd, text)
    local at = 1
    while at <= #text do
        local written = unistd.write(fd, text:sub(at, at + 65535))
        if not written then
            break
        end
        at = at + written
    end
    unistd.close(fd)
end

-- Runs a program to its end and collects what it prints.
function process.run(options)
    local out_read, out_write = unistd.pipe()
    local err_read, err_write = unistd.pipe()
    local copy = {}
    for key, value in pairs(options) do
        copy[key] = value
    end
    copy.stdout, copy.stderr = out_write, err_write
    local in_read, in_write
    if options.input then
        in_read, in_write = unistd.pipe()
        copy.stdin = in_read
    end
    local pid = process.spawn(copy)
    unistd.close(out_write)
    unistd.close(err_write)
    local writer
    if options.input then
        unistd.close(in_read)
        writer = assert(unistd.fork())
        if writer == 0 then
            feed(in_write, options.input)
            unistd._exit(0)
        end
        unistd.close(in_write)
    end
    local parts = { [out_read] = {}, [err_read] = {} }
    local open_fds = { [out_read] = { events = { IN = true } }, [err_read] = { events = { IN = true } } }
    local limit = process.now() + (options.timeout or 20)
    local timed_out = false
    while next(open_fds) do
        local left = limit - process.now()
        if left <= 0 then
            timed_out = true
            break
        end
        poll.poll(open_fds, math.ceil(left * 1000))
        for fd, state in pairs(open_fds) do
            local seen = state.revents
            if seen and (seen.IN or seen.HUP or seen.ERR) and not drain(fd, parts[fd]) then
                open_fds[fd] = nil
            end
        end
    end
    for fd in pairs(open_fds) do
        unistd.close(fd)
    end
    local how, code
    if not timed_out then
        how, code = process.wait(pid, math.max(0.1, limit - process.now()))
    end
    if not how then
        timed_out = true
        how, code = process.finish(pid, "KILL", 5)
    end
    if writer then
        process.finish(writer, "KILL", 5)
    end
    return {
        status = how == "exited" and code or nil,
        signal = how == "killed" and code or nil,
        out = table.concat(parts[out_read]),
        err = table.concat(parts[err_read]),
        timed_out = timed_out,
    }
end

-- The fields of /proc/PID/stat after the name: state, parent, ...
local function stat(pid)
    local text = process.read_file("/proc/" .. pid .. "/stat")
    if not text then
        return nil
    end
    local fields = {}
    for field in text:match("^.*%) (.*)$"):gmatch("%S+") do
        fields[#fields + 1] = field
    end
    return fields
end

-- One letter as in ps(1), "Z" for a zombie; nil when there is no such process.
function process.state(pid)
    local fields = stat(pid)
    return fields and fields[1]
end

-- The first thread of a process is a zombie while others of it still end; until then its
-- descriptors are open.
function process.alive(pid)
    local state = process.state(pid)
    if state == "Z" or state == "X" then
        local good, threads = pcall(function()
            local count = 0
            for _ in require("posix.dirent").files("/proc/" .. pid .. "/task") do
                count = count + 1
            end
            return count - 2 -- "." and ".."
        end)
        return good and threads > 1
    end
    return state ~= nil
end

local function all_parents()
    local parents = {}
    for name in require("posix.dirent").files("/proc") do
        if name:match("^%d+$") then
            local fields = stat(name)
            if fields then
                parents[tonumber(name)] = { parent = tonumber(fields[2]), state = fields[1] }
            end
        end
    end
    return parents
end

-- Sorted list of the living children; zombies are left out unless <zombies>.
function process.children(pid, zombies)
    local list = {}
    for child, row in pairs(all_parents()) do
        if row.parent == pid and (zombies or row.state ~= "Z") then
            list[#list + 1] = child
        end
    end
    table.sort(list)
    return list
end

function process.descendants(pid)
    local parents, list = all_parents(), {}
    local function visit(parent)
        for child, row in pairs(parents) do
            if row.parent == parent then
                list[#list + 1] = child
                visit(child)
            end
        end
    end
    visit(pid)
    table.sort(list)
    return list
end

function process.fds(pid)
    local count = 0
    local good = pcall(function()
        for name in require("posix.dirent").files("/proc/" .. pid .. "/fd") do
            if name:match("^%d+$") then
                count = count + 1
            end
        end
    end)
    return good and count or nil
end

function process.rss_kib(pid)
    local text = process.read_file("/proc/" .. pid .. "/status") or ""
    return tonumber(text:match("VmRSS:%s*(%d+)"))
end

-- User and system time together; the kernel counts in steps of 10 ms.
function process.cpu_ms(pid)
    local fields = stat(pid)
    return fields and (tonumber(fields[12]) + tonumber(fields[13])) * 10
end

function process.command(pid)
    local text = process.read_file("/proc/" .. pid .. "/cmdline")
    return text and (text:gsub("%z", " "):gsub("%s+$", ""))
end

return process
