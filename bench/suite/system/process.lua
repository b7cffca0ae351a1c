-- Child processes and time: argv in, never a shell. Every program is started in a process group
-- of its own, so that a terminal's Ctrl-C reaches the suite only and the suite stops the rest.

local ffi = require("ffi")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local poll = require("posix.poll")
local posix_signal = require("posix.signal")
local ptime = require("posix.time")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

ffi.cdef([[
int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
]])

local PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
local READ_SIZE = 65536
local SWEEP_S, SWEEP_AGAIN_S = 10, 0.1

local process = {}

--- Monotonic time in seconds.
function process.now()
    local t = ptime.clock_gettime(ptime.CLOCK_MONOTONIC)
    return t.tv_sec + t.tv_nsec / 1e9
end

--- Wall-clock time in seconds since 1970 (UTC), with a fraction.
function process.wall()
    local t = ptime.clock_gettime(ptime.CLOCK_REALTIME)
    return t.tv_sec + t.tv_nsec / 1e9
end

--- Sleeps <seconds>; a signal's handler runs at once, the sleep then ends early.
function process.sleep(seconds)
    if seconds > 0 then
        poll.poll({}, math.ceil(seconds * 1000))
    end
end

--- Makes this process the parent of whatever its descendants leave behind, so that
-- process.sweep() finds it.
function process.adopt_orphans()
    ffi.C.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
end

--- This process gets SIGTERM when its parent dies.
function process.die_with_parent()
    ffi.C.prctl(PR_SET_PDEATHSIG, posix_signal.SIGTERM, 0, 0, 0)
end

local function close_on_exec(fd)
    fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    return fd
end

--- A pipe, both ends closed on exec: reading end, writing end.
function process.pipe()
    local read_end, write_end = unistd.pipe()
    return close_on_exec(read_end), close_on_exec(write_end)
end

local function exec_child(argv, fds, options)
    unistd.setpid("p", 0, 0)
    process.die_with_parent()
    for _, number in ipairs({ posix_signal.SIGINT, posix_signal.SIGTERM, posix_signal.SIGHUP, posix_signal.SIGPIPE }) do
        posix_signal.signal(number, posix_signal.SIG_DFL)
    end
    unistd.dup2(fds.input, 0)
    unistd.dup2(fds.output, 1)
    unistd.dup2(fds.errors, 2)
    for name, value in pairs(options.env or {}) do
        require("posix.stdlib").setenv(name, value)
    end
    if options.directory then
        unistd.chdir(options.directory)
    end
    local args = {}
    for i = 2, #argv do
        args[i - 1] = argv[i]
    end
    local _, reason = unistd.execp(argv[1], args)
    unistd.write(2, argv[1] .. ": cannot be started: " .. tostring(reason) .. "\n")
    unistd._exit(127)
end

--- Starts <argv>. options: env (added variables), directory, input (a descriptor to read from, which
-- stays open here; without it standard input is empty). Returns {pid, output, errors} with the reading ends of two pipes, or nil and a reason.
function process.start(argv, options)
    local out_read, out_write = process.pipe()
    local err_read, err_write = process.pipe()
    local null = close_on_exec(fcntl.open("/dev/null", fcntl.O_RDONLY))
    io.stdout:flush()
    local pid, reason = unistd.fork()
    if pid == 0 then
        exec_child(argv, { input = options and options.input or null, output = out_write, errors = err_write }, options or {})
    end
    unistd.close(out_write)
    unistd.close(err_write)
    unistd.close(null)
    if not pid then
        unistd.close(out_read)
        unistd.close(err_read)
        return nil, "fork: " .. tostring(reason)
    end
    unistd.setpid("p", pid, pid) -- both sides set it, so that neither can be too late
    return { pid = pid, output = out_read, errors = err_read }
end

--- Signals the process group of <pid>; quiet when it is gone.
function process.kill_group(pid, number)
    posix_signal.kill(-pid, number)
end

--- Waits for <pid>; with <block> = false it only looks. Returns the exit code, or 128 + the number
-- of the signal that ended it; nil while it runs.
function process.reap(pid, block)
    while true do
        local done, how, code = wait.wait(pid, block == false and wait.WNOHANG or 0)
        if done and done > 0 then
            return how == "exited" and code or 128 + code
        elseif done == 0 then
            return nil
        elseif code ~= errno.EINTR then
            return 127
        end
    end
end

local function drain(streams, fd, stream)
    local data, _, code = unistd.read(fd, READ_SIZE)
    if data and #data > 0 then
        stream.parts[#stream.parts + 1] = data
    elseif data or code ~= errno.EINTR then
        streams[fd] = nil
        unistd.close(fd)
        stream.of.open, stream.of.ended = stream.of.open - 1, process.now()
    end
end

local function listen(streams, timeout_ms)
    local watched = {}
    for fd in pairs(streams) do
        watched[fd] = { events = { IN = true } }
    end
    local ready = poll.poll(watched, timeout_ms)
    if ready and ready > 0 then
        for fd, entry in pairs(watched) do
            if entry.revents and (entry.revents.IN or entry.revents.HUP or entry.revents.ERR) then
                drain(streams, fd, streams[fd])
            end
        end
    end
end

-- Reads all <streams> to their ends, or until the time is over; returns whether it is.
local function read_all(streams, started, options)
    local deadline, tick_s = started + (options.timeout_s or 60), options.tick_s or 0.25
    local next_tick, now = started + tick_s, process.now()
    while next(streams) and now < deadline do
        listen(streams, math.max(0, math.ceil((math.min(next_tick, deadline) - now) * 1000)))
        now = process.now()
        if now >= next_tick then
            next_tick = now + tick_s
            if options.tick then
                options.tick(now - started)
            end
            if options.stop and options.stop() then
                break
            end
        end
    end
    return next(streams) ~= nil
end

--- Runs <children> (of process.start) to their ends, all at once. options: timeout_s (for all,
-- default 60), tick (called about every tick_s seconds, default 0.25, with the seconds since the
-- start). Returns a list in the same order of {code, out, err, elapsed_s, timed_out}; an error
-- raised by tick (an interrupt) stops the programs first and then continues. stop (asked as often): true ends
-- them as a time-out does.
function process.gather(children, options)
    options = options or {}
    local started, streams, states = process.now(), {}, {}
    for index, child in ipairs(children) do
        local state = { open = 2, output = { parts = {} }, errors = { parts = {} } }
        state.output.of, state.errors.of = state, state
        streams[child.output], streams[child.errors] = state.output, state.errors
        states[index] = state
    end
    local ok, late = pcall(read_all, streams, started, options)
    local results = {}
    for index, child in ipairs(children) do
        local state = states[index]
        state.timed_out = state.open > 0
        if state.timed_out then
            process.kill_group(child.pid, posix_signal.SIGKILL)
        end
    end
    for fd in pairs(streams) do
        unistd.close(fd)
    end
    for index, child in ipairs(children) do
        local state = states[index]
        results[index] = {
            code = process.reap(child.pid),
            out = table.concat(state.output.parts),
            err = table.concat(state.errors.parts),
            elapsed_s = (state.timed_out and process.now() or state.ended) - started,
            timed_out = state.timed_out,
        }
    end
    if not ok then
        error(late, 0)
    end
    return results
end

--- Runs <argv> to its end. options: those of process.start and process.gather. Returns one result of
-- process.gather.
function process.run(argv, options)
    local child, reason = process.start(argv, options)
    if not child then
        return { code = 127, out = "", err = reason, elapsed_s = 0, timed_out = false }
    end
    return process.gather({ child }, options)[1]
end

--- First line of what <argv> prints (standard output, else standard error); nil when it fails.
function process.first_line(argv)
    local result = process.run(argv, { timeout_s = 5 })
    local text = result.out ~= "" and result.out or result.err
    return result.code ~= 127 and text:match("[^\r\n]+") or nil
end

-- pid -> parent pid of every process that /proc shows.
local function parents()
    local map = {}
    for name in require("posix.dirent").files("/proc") do
        local file = name:match("^%d+$") and io.open("/proc/" .. name .. "/stat")
        if file then
            -- The command name may hold anything: the last ")" ends it.
            map[tonumber(name)] = tonumber((file:read("*a") or ""):match(".*%) %S (%d+)"))
            file:close()
        end
    end
    return map
end

--- Pids of all living descendants of <pid>, or of each of a list of pids, without these. One look
-- at /proc, however many they are.
function process.descendants(pid)
    local map, found, growing = parents(), {}, true
    local known = {}
    for _, root in ipairs(type(pid) == "table" and pid or { pid }) do
        known[root] = true
    end
    while growing do
        growing = false
        for child, parent in pairs(map) do
            if known[parent] and not known[child] then
                known[child], growing = true, true
                found[#found + 1] = child
            end
        end
    end
    return found
end

--- Kills every descendant of this process that is left and reaps it; returns how many were found
-- at once. For a process that has adopted orphans: what a killed one leaves becomes its child, so
-- that the kernel says when none is left.
function process.sweep()
    local count, next_look = 0, 0
    local deadline = process.now() + SWEEP_S
    while process.now() < deadline do
        local pid, _, code = wait.wait(-1, wait.WNOHANG)
        if not pid and code == errno.ECHILD then
            break
        elseif pid and pid > 0 then -- luacheck: ignore 542
            -- Reaped; there may be more.
        elseif process.now() >= next_look then
            local left = process.descendants(unistd.getpid())
            for _, one in ipairs(left) do
                posix_signal.kill(one, posix_signal.SIGKILL)
            end
            count = math.max(count, #left)
            next_look = process.now() + SWEEP_AGAIN_S
        else
            process.sleep(0.002)
        end
    end
    return count
end

return process
