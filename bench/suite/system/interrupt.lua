-- Ctrl-C, TERM and HUP: a run ends within three seconds with everything stopped, whatever it is
-- doing at that moment, and what was measured is kept.
--
-- Two processes. The supervisor waits and forwards; the worker does the work. In the worker a
-- signal raises an error at the next Lua instruction (a hook; a system call that blocks is woken
-- by the signal), so that the usual clean-up runs. If that takes too long the supervisor kills
-- every process below it and finishes from what the worker saved last.

local poll = require("posix.poll")
local posix_signal = require("posix.signal")
local unistd = require("posix.unistd")
local process = require("bench.suite.system.process")

local interrupt = {}

-- Of the three seconds, what the worker has to stop and to write its report.
local GRACE_S = 1.8
local WAIT_MS = 200

local NAMES = {
    [posix_signal.SIGINT] = "INT",
    [posix_signal.SIGTERM] = "TERM",
    [posix_signal.SIGHUP] = "HUP",
}

local pending -- number of the signal that ended the work
local shielded = false

local function raise()
    debug.sethook()
    error({ interrupt = pending }, 0)
end

local function install(handler)
    for number in pairs(NAMES) do
        posix_signal.signal(number, handler)
    end
end

--- Name of signal <number> without SIG ("INT"), as the results record it.
function interrupt.name(number)
    return NAMES[number]
end

--- The number of the signal that asked this process to end, or nil.
function interrupt.pending()
    return pending
end

--- True when <failure>, caught by a pcall, is an interrupt: then it must be passed on.
function interrupt.is(failure)
    return type(failure) == "table" and failure.interrupt ~= nil
end

--- Raises the interrupt when there is one: for places behind a pcall that may have swallowed it.
function interrupt.check()
    if pending and not shielded then
        raise()
    end
end

--- pcall for the part of a program that an interrupt ends, with the clean-up after it: returns true,
-- or false and the failure; no interrupt is raised any more when it has returned false.
-- A signal may reach Lua in the middle of a call and spoil its arguments, so that an ordinary error
-- comes first and the interrupt one instruction later: the outer pcall is there for that one.
function interrupt.attempt(work, ...)
    local arguments = { ... }
    local ok, failure = pcall(function()
        local fine, why = pcall(work, unpack(arguments))
        if not fine then
            error(why, 0)
        end
    end)
    if pending then
        debug.sethook()
        return false, { interrupt = pending }
    end
    return ok, failure
end

--- Runs <work>(...) undisturbed: a signal meanwhile is remembered and nothing is raised.
function interrupt.shield(work, ...)
    local before = shielded
    shielded = true
    debug.sethook()
    local ok, result = pcall(work, ...)
    shielded = before
    if not ok then
        error(result, 0)
    end
    return result
end

local function worker(work, own_parent)
    unistd.setpid("p", 0, 0)
    process.die_with_parent()
    if unistd.getppid() ~= own_parent then
        unistd._exit(111)
    end
    install(function(number)
        -- Only the first one raises: a second would end the clean-up that the first has begun.
        local first = pending == nil
        pending = pending or number
        if first and not shielded then
            debug.sethook(raise, "", 1)
        end
    end)
    local ok, code = pcall(work)
    debug.sethook()
    if not ok then
        if interrupt.is(code) then
            code = 128 + code.interrupt
        elseif type(code) == "table" and code.usage then
            io.stderr:write("bench: ", code.usage, "\n")
            code = 1
        else
            io.stderr:write("bench: ", tostring(code), "\n")
            code = 111
        end
    end
    io.stdout:flush()
    interrupt.shield(process.sweep)
    unistd._exit(pending and 128 + pending or code or 0)
end

--- Runs <work>() in a process of its own and returns its exit code; 128 + the number after a
-- signal. <finish>(name of the signal) is called here when the worker had to be killed.
function interrupt.supervise(work, finish)
    process.adopt_orphans()
    io.stdout:flush()
    local own, child, asked, deadline = unistd.getpid(), nil, nil, nil
    install(function(number)
        if not asked then
            asked, deadline = number, process.now() + GRACE_S
            if child then
                posix_signal.kill(child, number)
            end
        end
    end)
    local alive, held = process.pipe() -- reads end-of-file once the worker is gone
    child = unistd.fork()
    if child == 0 then
        unistd.close(alive)
        process.adopt_orphans()
        worker(work, own)
    end
    unistd.close(held)
    if asked then
        posix_signal.kill(child, asked)
    end
    -- The wait is bounded, so that a signal that comes just before it is seen soon after.
    local ended, late = false, false
    while not ended and not late do
        ended = poll.rpoll(alive, WAIT_MS) == 1
        late = not ended and asked and process.now() > deadline
    end
    if late then
        process.sweep()
        if finish then
            finish(NAMES[asked])
        end
        return 128 + asked
    end
    local code = process.reap(child)
    process.sweep()
    return code
end

return interrupt
