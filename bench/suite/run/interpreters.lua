-- Interpreters as whole processes: each program is started, runs to its end and is timed, as
-- `time program file` does. Output goes to /dev/null where the program's is the point.

local ffi = require("ffi")
local fcntl = require("posix.fcntl")
local unistd = require("posix.unistd")
local plan = require("bench.suite.run.plan")
local process = require("bench.suite.system.process")
local statistics = require("bench.suite.analysis.statistics")

ffi.cdef([[
typedef struct { long tv_sec; long tv_usec; } suite_timeval;
typedef struct { suite_timeval user, system; long rest[14]; } suite_rusage;
int wait4(int pid, int *status, int options, suite_rusage *usage);
]])

local interpreters = {}

local function seconds(value)
    return tonumber(value.tv_sec) + tonumber(value.tv_usec) / 1e6
end

local function become(argv)
    unistd.setpid("p", 0, 0)
    process.die_with_parent()
    local null = fcntl.open("/dev/null", fcntl.O_RDWR)
    for fd = 0, 2 do
        unistd.dup2(null, fd)
    end
    local args = {}
    for i = 2, #argv do
        args[i - 1] = argv[i]
    end
    unistd.execp(argv[1], args)
    unistd._exit(127)
end

--- Runs <argv> once with its output thrown away: {real_s, user_s, system_s, code}. The times are
-- the kernel's (wait4), as the shell's `time` shows them.
function interpreters.time(argv)
    io.stdout:flush()
    local started = process.now()
    local pid = unistd.fork()
    if pid == 0 then
        become(argv)
    end
    local status, usage = ffi.new("int[1]"), ffi.new("suite_rusage")
    while ffi.C.wait4(pid, status, 0, usage) < 0 do
        if ffi.errno() ~= 4 then -- EINTR: an interrupt's error is raised here by its hook
            return { code = 127 }
        end
    end
    return {
        real_s = process.now() - started,
        user_s = seconds(usage.user),
        system_s = seconds(usage.system),
        code = status[0] >= 256 and math.floor(status[0] / 256) or status[0],
    }
end

-- The cells of the table: one for each program and interpreter that is there.
local function cells(step, root)
    local list = {}
    for _, row in ipairs(step.programs.rows) do
        for _, interpreter in ipairs(step.programs.interpreters) do
            local file = ("%s/bench/programs/%s.%s"):format(root, row.program, interpreter.suffix)
            local argv = {}
            for i, word in ipairs(interpreter.command) do
                argv[i] = word
            end
            argv[#argv + 1] = file
            local published = (step.programs.published[row.program] or {})[interpreter.name]
            list[#list + 1] = {
                program = row.program, what = row.what, interpreter = interpreter.name, title = interpreter.title, argv = argv,
                published_name = step.programs.published_names[interpreter.name],
                published = published and { real_s = published[1], user_s = published[2], system_s = published[3] },
                runs = {},
            }
        end
    end
    return list
end

-- Looks at the output once: its length where that is known. Whole processes that print something
-- else would be fast for the wrong reason.
local function check(cell, expected_bytes)
    local result = process.run(cell.argv, { timeout_s = 60 })
    if result.code == 127 then
        return ("%s is not installed"):format(cell.argv[1])
    elseif result.code ~= 0 then
        return ("exit code %d: %s"):format(result.code, result.err:sub(1, 200))
    elseif expected_bytes and #result.out ~= expected_bytes then
        return ("%d bytes of output instead of %d"):format(#result.out, expected_bytes)
    end
    return nil, #result.out
end

local function summarise(cell)
    for _, name in ipairs({ "real_s", "user_s", "system_s" }) do
        local values = {}
        for i, run in ipairs(cell.runs) do
            values[i] = run[name]
        end
        local interval = statistics.interval(values)
        cell[name] = interval and { median = statistics.median(values), low = interval.low, high = interval.high }
    end
end

-- Times of one program with two interpreters, paired by round: how many times as fast b is.
local function compare(list, program, a, b)
    local times = { [a] = {}, [b] = {} }
    for _, cell in ipairs(list) do
        if cell.program == program and times[cell.interpreter] then
            for i, run in ipairs(cell.runs) do
                times[cell.interpreter][i] = 1 / run.real_s
            end
        end
    end
    local ratio = statistics.ratio(times[a], times[b])
    local verdict = statistics.verdict(ratio, 0.03, { a = a, b = b })
    return { program = program, a = a, b = b, ratio = ratio and ratio.ratio, low = ratio and ratio.low, high = ratio and ratio.high,
        winner = verdict.winner, text = verdict.text }
end

--- Carries out a step of kind "programs"; appends its record to <records>.
function interpreters.run(step, context, records)
    local record = { kind = "programs", name = step.programs.name, title = step.programs.title, reading = step.programs.reading,
        cells = cells(step, context.root), rounds_planned = step.rounds, rounds = 0, complete = false }
    records[#records + 1] = record
    context.live:heading(("%s: %s"):format(step.document.name, record.title))
    local expected, ready = {}, {}
    for _, row in ipairs(step.programs.rows) do
        expected[row.program] = row.output_bytes
    end
    for _, cell in ipairs(record.cells) do
        cell.problem, cell.output_bytes = check(cell, expected[cell.program])
        if cell.problem then
            context.live:line(("  %s, %s: %s"):format(cell.program, cell.title, cell.problem))
        else
            ready[#ready + 1] = cell
        end
    end
    for round = 1, step.rounds do
        for _, cell in ipairs(plan.shuffled(ready, context.random)) do
            context.live:status(("%s  %s  round %d/%d  %s, %s"):format(step.document.name, record.name, round, step.rounds,
                cell.program, cell.title))
            local once = interpreters.time(cell.argv)
            cell.runs[#cell.runs + 1] = once
            if once.code ~= 0 and not cell.problem then
                cell.problem = ("failed in round %d: exit code %d"):format(round, once.code)
                context.live:line(("  %s, %s: %s"):format(cell.program, cell.title, cell.problem))
            end
            context.live:advance(step.seconds / (step.rounds * #ready))
        end
        record.rounds = round
    end
    record.pairs = {}
    for i = #ready, 1, -1 do
        if ready[i].problem then -- its times are those of a failure
            table.remove(ready, i)
        end
    end
    for _, cell in ipairs(ready) do
        summarise(cell)
        context.live:line(("  %-7s %-10s %6.3f s"):format(cell.program, cell.title, cell.real_s.median))
    end
    for _, row in ipairs(step.programs.rows) do
        record.pairs[#record.pairs + 1] = compare(ready, row.program, "php", "node")
        record.pairs[#record.pairs + 1] = compare(ready, row.program, "node", "luajit")
    end
    record.complete = true
end

return interpreters
