-- SPDX-License-Identifier: MIT
--
-- Resources of process groups over a measurement: CPU time, memory, context switches, loopback
-- bytes, TCP counters and listen queues, read from /proc.
--
-- Two ways to use it. Between runs: take() before and after, difference() of the two. During a
-- run: start() forks a sampler process that writes one JSON line per interval; stop() reads them.
-- Every record has absolute time stamps and the CPU time that the sampling itself has cost.
--
-- A group is {name = "nginx", pids = function() return list of pids end}.

local cjson = require("cjson")
local clock = require("posix.time")
local errno = require("posix.errno")
local ffi = require("ffi")
local poll = require("posix.poll")
local signal = require("posix.signal")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

local figures = require("bench.suite.analysis.figures")
local proc = require("bench.suite.system.proc")
local sock_diag = require("bench.suite.system.sock_diag")

ffi.cdef([[ int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long); ]])
local PR_SET_PDEATHSIG = 1

local sample = {}

local function seconds(which)
    local time = clock.clock_gettime(which)
    return time.tv_sec + time.tv_nsec / 1e9
end

--- Monotonic time in seconds, for intervals.
function sample.now()
    return seconds(clock.CLOCK_MONOTONIC)
end

--- Totals of one list of pids: each of figures.process (a child's reaped time included), count,
-- processes (pid to its start in clock ticks since boot, so that a replaced child is told from a lasting
-- one), and with <memory> pss_kib, rss_kib and pss_each (list of KiB). Pids that are gone are left out.
function sample.group(pids, memory)
    local total = { count = 0, processes = {}, pss_each = memory and {} or nil }
    for _, figure in ipairs(figures.process) do
        total[figure.key] = 0
    end
    for _, pid in ipairs(pids) do
        local info = proc.process(pid, memory)
        if info and info.state ~= "Z" then
            total.count = total.count + 1
            total.processes[pid] = info.start_ticks
            for _, figure in ipairs(figures.process) do
                total[figure.key] = total[figure.key] + figure.of(info)
            end
            if info.pss_kib then
                total.pss_kib = (total.pss_kib or 0) + info.pss_kib
                total.rss_kib = (total.rss_kib or 0) + info.rss_kib
                table.insert(total.pss_each, info.pss_kib)
            end
        end
    end
    return total
end

-- Queue of each address ({name, address}) as {name, waiting, backlog}.
local function queues_of(reader, addresses)
    local list, found = {}, reader:read()
    for _, item in ipairs(addresses) do
        local queue = found[sock_diag.key(item.address) or ""]
        if queue then
            list[#list + 1] = { name = item.name, waiting = queue.waiting, backlog = queue.backlog }
        end
    end
    return list
end

--- One look at everything: {at_s (UTC), monotonic_s, groups = {name = sample.group()}, loopback,
-- tcp_ext, queues, cost_s}. <options>: memory (also PSS: walks each process's mappings), queues =
-- list of {name, address} ("unix:/path" or "host:port"). cost_s is the CPU time this look took.
function sample.take(groups, options)
    options = options or {}
    local began = seconds(clock.CLOCK_PROCESS_CPUTIME_ID)
    local record = {
        at_s = seconds(clock.CLOCK_REALTIME),
        monotonic_s = sample.now(),
        groups = {},
        loopback = proc.loopback(),
        tcp_ext = proc.tcp_ext(),
    }
    for _, group in ipairs(groups) do
        record.groups[group.name] = sample.group(group.pids(), options.memory)
    end
    if options.queues then
        local reader = sock_diag.open()
        if reader then
            record.queues = queues_of(reader, options.queues)
            reader:close()
        end
    end
    record.cost_s = seconds(clock.CLOCK_PROCESS_CPUTIME_ID) - began
    return record
end

-- Change of a group between two looks; a child that ended and was not reaped inside the group is lost.
local function group_difference(before, after)
    local replaced = 0
    for pid, start in pairs(after.processes) do
        if before.processes[pid] ~= start then
            replaced = replaced + 1
        end
    end
    local change = {
        processes = after.count,
        started_processes = replaced,
        pss_kib = after.pss_kib,
        rss_kib = after.rss_kib,
        pss_each = after.pss_each,
    }
    for _, figure in ipairs(figures.process) do
        change[figure.key] = math.max(0, after[figure.key] - before[figure.key])
    end
    return change
end

--- What happened between two looks: {elapsed_s, groups = {name = {processes, started_processes (those
-- that were not there before), each of figures.process, pss_kib, rss_kib, pss_each}}, loopback =
-- {rx_bytes, ...}, tcp_ext = {counter = change, only those that changed}}.
-- user_s and system_s come from clock ticks (10 ms each); cpu_s is fine-grained.
function sample.difference(before, after)
    local result = { elapsed_s = after.monotonic_s - before.monotonic_s, groups = {}, loopback = {}, tcp_ext = {} }
    for name, group in pairs(after.groups) do
        if before.groups[name] then
            result.groups[name] = group_difference(before.groups[name], group)
        end
    end
    for name, value in pairs(after.loopback or {}) do
        result.loopback[name] = value - ((before.loopback or {})[name] or 0)
    end
    for name, value in pairs(after.tcp_ext or {}) do
        local change = value - (before.tcp_ext[name] or 0)
        if change ~= 0 then
            result.tcp_ext[name] = change
        end
    end
    return result
end

-- One line of the sampler: like take(), slimmed for a time series.
local function line_of(record, queue_max)
    local groups = {}
    for name, group in pairs(record.groups) do
        groups[name] = { count = group.count, pss_kib = group.pss_kib }
        for _, figure in ipairs(figures.process) do
            groups[name][figure.key] = group[figure.key]
        end
    end
    return {
        at_s = record.at_s,
        monotonic_s = record.monotonic_s,
        groups = groups,
        loopback = record.loopback,
        queues = queue_max,
        cost_s = seconds(clock.CLOCK_PROCESS_CPUTIME_ID),
    }
end

-- Longest waiting line of each queue since the last call of take().
local function queue_watch(addresses)
    local reader = #addresses > 0 and sock_diag.open()
    local longest = {}
    local watch = {}
    function watch.look()
        for _, queue in ipairs(reader and queues_of(reader, addresses) or {}) do
            local seen = longest[queue.name] or { name = queue.name, max = 0 }
            seen.max, seen.backlog = math.max(seen.max, queue.waiting), queue.backlog
            longest[queue.name] = seen
        end
    end
    function watch.take()
        local list = {}
        for _, seen in pairs(longest) do
            list[#list + 1] = seen
        end
        longest = {}
        return list
    end
    return watch
end

-- The sampler process: records on a fixed time grid, looks at the queues in between.
local function sampler_loop(groups, options, file, stopped)
    local watch = queue_watch(options.queues or {})
    local next_record = sample.now()
    while not stopped() do
        watch.look()
        if sample.now() >= next_record then
            local record = sample.take(groups, { memory = options.memory })
            file:write(cjson.encode(line_of(record, watch.take())), "\n")
            file:flush()
            next_record = math.max(next_record + options.interval_s, sample.now())
        end
        local pause_s = math.min(options.queue_interval_s, math.max(0.001, next_record - sample.now()))
        poll.poll({}, math.ceil(pause_s * 1000))
    end
    watch.look()
    file:write(cjson.encode(line_of(sample.take(groups, { memory = options.memory }), watch.take())), "\n")
    file:flush()
end

local function sampler_process(groups, options)
    ffi.C.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    local stop = false
    local function on_signal()
        stop = true
    end
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, signal.SIG_IGN) -- the parent decides when the run is over
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    jit.off() -- a deferred signal handler runs only in interpreted code
    local file = io.open(options.path, "w")
    local ok = file and pcall(sampler_loop, groups, options, file, function()
        return stop or unistd.getppid() ~= options.parent
    end)
    unistd._exit(ok and 0 or 1)
end

--- Starts a sampler process. <options>: path (file for the JSON lines), interval_s (default 1),
-- queue_interval_s (default 0.02), queues and memory as in take(). Returns a handle for stop(), or
-- nil and the reason. Its cost: about 0.15 ms of CPU per process and record (0.25 ms with memory)
-- and 0.06 ms per look at the queues; each record carries the true figure as cost_s.
function sample.start(groups, options)
    local settings = {
        path = options.path,
        interval_s = options.interval_s or 1,
        queue_interval_s = options.queue_interval_s or 0.02,
        queues = options.queues,
        memory = options.memory,
        parent = unistd.getpid(),
    }
    io.stdout:flush()
    local pid, reason = unistd.fork()
    if pid == 0 then
        sampler_process(groups, settings)
    elseif not pid then
        return nil, "cannot start the sampler: " .. reason
    end
    return { pid = pid, path = settings.path }
end

--- Ends the sampler and returns its records in time order, each as one line of the file:
-- {at_s, monotonic_s, groups = {name = {count, each of figures.process, pss_kib}}, loopback, queues =
-- list of {name, max, backlog}, cost_s}; all counters cumulative,
-- queue maxima since the previous record.
function sample.stop(handle)
    signal.kill(handle.pid, signal.SIGTERM)
    repeat
        local pid, _, why = wait.wait(handle.pid)
    until pid or why ~= errno.EINTR
    local records = {}
    for line in (proc.read(handle.path) or ""):gmatch("[^\n]+") do
        local ok, record = pcall(cjson.decode, line)
        if ok then
            records[#records + 1] = record
        end
    end
    return records
end

--- Longest line of each queue over a list of records: list of {name, max, backlog}.
function sample.queue_maxima(records)
    local by_name, list = {}, {}
    for _, record in ipairs(records) do
        for _, queue in ipairs(record.queues or {}) do
            local seen = by_name[queue.name]
            if not seen then
                seen = { name = queue.name, max = 0 }
                by_name[queue.name], list[#list + 1] = seen, seen
            end
            seen.max, seen.backlog = math.max(seen.max, queue.max), queue.backlog
        end
    end
    return list
end

return sample
