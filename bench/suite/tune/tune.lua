-- SPDX-License-Identifier: MIT
--
-- bench/bench tune: sweeps the number of children of a pool and says which number to run.
--
-- A sweep: check that the page answers, measure it alone, then rounds of all counts in random order
-- (one count twice: the A/A pair that gives the noise floor), then refinement around the knee with
-- the best count beside each new one. Results are saved after each point.

local bit = require("bit")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local files = require("bench.suite.system.files")
local interrupt = require("bench.suite.system.interrupt")
local limits = require("bench.suite.system.limits")
local live = require("bench.suite.report.live")
local machine = require("bench.suite.system.machine")
local measure = require("bench.suite.measurement.measure")
local process = require("bench.suite.system.process")
local recommend = require("bench.suite.tune.recommend")
local results = require("bench.suite.report.results")
local stack = require("bench.suite.bring_up.stack")
local statistics = require("bench.suite.analysis.statistics")
local sweep = require("bench.suite.tune.sweep")
local tune_options = require("bench.suite.tune.tune_options")
local tune_pool = require("bench.suite.tune.tune_pool")
local tune_text = require("bench.suite.tune.tune_text")
local usl = require("bench.suite.analysis.usl")

local tune = {}

local PRIVATE = 448 -- 0700
local REFINEMENTS_MAX = 3
-- With more noise than this, counts that are close together cannot be told apart.
local NOISE_FOR_REFINING = 0.15
-- Planned cost of bringing a pool up and of the looks before and after a point.
local RESTART_S, OVERHEAD_S = 0.9, 0.25
-- Part of the processors that other programs may use before it is noted.
local OTHERS_NOTED = 0.1
-- Part of the free memory that a pool may take unless a budget is given.
local MEMORY_SHARE = 0.85

local function shuffle(list)
    for i = #list, 2, -1 do
        local j = math.random(i)
        list[i], list[j] = list[j], list[i]
    end
    return list
end

-- The points of one round: every count once, the middle one twice.
local function round_order(counts, twin)
    local order = {}
    for _, n in ipairs(counts) do
        order[#order + 1] = { children = n }
    end
    if twin then
        order[#order + 1] = { children = twin, twin = true }
    end
    return shuffle(order)
end

-- Response times of one count over its rounds, from the histograms; nil when they are missing.
local function merge(points, session)
    local paths = {}
    for _, point in ipairs(points) do
        paths[#paths + 1] = point._raw
    end
    return #paths > 0 and measure.merge(session.client, paths, session.scratch) or nil
end

-- What one request needs, from the page alone (waiting) and the sweep (CPU under load).
local function need_of(tuning, rows, session, front_workers)
    local pool_us, other_us = {}, {}
    for _, row in ipairs(recommend.usable(rows)) do
        local cpu = row.cpu_us
        pool_us[#pool_us + 1] = cpu.pool
        other_us[#other_us + 1] = (cpu.front or 0) + (cpu.client or 0)
    end
    local cpu_us = statistics.median(pool_us)
    if not cpu_us then
        return nil
    end
    return {
        cpu_s = cpu_us / 1e6,
        wait_s = tuning.base.wait_s,
        shared_cpu_s = (statistics.median(other_us) or 0) / 1e6,
        cores = session.cpus,
        quota = session.quota,
        clients = not tuning.load.rate_per_s and tuning.load.connections or nil,
        front_workers = front_workers,
    }
end

local function rebuild_rows(tuning, work, session)
    local rows = {}
    for children, points in pairs(work.points) do
        local present = {}
        for round = 1, work.rounds do
            present[#present + 1] = points[round]
        end
        rows[#rows + 1] = sweep.row(children, points, work.rounds, work.target, merge(present, session))
    end
    table.sort(rows, function(a, b)
        return a.children < b.children
    end)
    local need = need_of(tuning, rows, session, work.pool.front_workers)
    for _, row in ipairs(rows) do
        row.predicted = need and usl.bound(need, row.children)
        if row.predicted and work.target.rate_per_s then
            row.predicted.per_s = math.min(row.predicted.per_s, work.target.rate_per_s)
        end
    end
    tuning.rows, tuning.need = rows, need
end

-- --- the rounds --------------------------------------------------------------------

local function planned_point_s(work, tuning)
    local start_s = work.pool.live and 0.1 or RESTART_S
    return sweep.seconds(work.target, tuning.base.response_s) + start_s + OVERHEAD_S
end

local function measure_point(tuning, work, session, item)
    local label = ("%s  %d children, round %d"):format(tuning.name, item.children, work.rounds)
    session.live:status(label)
    local point = sweep.point(work.pool, item.children, work.target, tuning.base, session)
    interrupt.check()
    point.round = work.rounds
    session.live:advance(planned_point_s(work, tuning))
    if item.twin then
        work.twin[work.rounds] = point.ok_per_s
    else
        work.points[item.children] = work.points[item.children] or {}
        work.points[item.children][work.rounds] = point
    end
    local figures = point.error and "failed: " .. point.error:sub(1, 60) or ("%10.1f/s  p99 %8.2f ms%s"):format(
        point.ok_per_s, (point.response_us.p99 or point.response_us.max or 0) / 1000, item.twin and "  (A/A)" or "")
    if session.live.tty then
        session.live:status(label .. figures)
    else
        session.live:line(("  round %d %6d children %s  (%s left)"):format(work.rounds, item.children, figures,
            live.clock(session.live:left_s())))
    end
    tuning.order[#tuning.order + 1] = item.children
end

local function run_round(tuning, work, session, counts, twin)
    work.rounds = work.rounds + 1
    for _, item in ipairs(round_order(counts, twin)) do
        measure_point(tuning, work, session, item)
        interrupt.shield(function()
            rebuild_rows(tuning, work, session)
            session.save()
        end)
    end
end

local function noise_of(work)
    local rates, twins = {}, {}
    for round, rate in pairs(work.twin) do
        local point = work.points[work.twin_count][round]
        if rate and point and point.ok_per_s then
            rates[#rates + 1], twins[#twins + 1] = point.ok_per_s, rate
        end
    end
    return statistics.noise_of_mean(rates, twins), #rates
end

-- Up to three times: where between too few and enough does the knee lie?
local function refine(tuning, work, session, repeats)
    for _ = 1, REFINEMENTS_MAX do
        local usable = recommend.usable(tuning.rows)
        local best = recommend.best(usable)
        local counts = best and recommend.refine(tuning.rows, tuning.goals) or {}
        if #counts == 0 then
            return
        end
        tuning.refined = tuning.refined or {}
        for _, n in ipairs(counts) do
            table.insert(tuning.refined, n)
        end
        counts[#counts + 1] = best.children
        session.live.planned_s = session.live.planned_s + #counts * repeats * planned_point_s(work, tuning)
        for _ = 1, repeats do
            run_round(tuning, work, session, counts)
        end
    end
end

-- --- one target ----------------------------------------------------------------------

-- The page once: what every answer is held against. A page that differs from itself is only
-- checked for its status.
local function expectation(pool)
    if not pool.handle.url:find("^http://") then
        return {}
    end
    local first = measure.verify(pool.handle, pool.page, {})
    local second = measure.verify(pool.handle, pool.page, {})
    if not first.ok then
        return nil, pool.page .. ": " .. table.concat(first.problems, "; ")
    end
    return first.bytes == second.bytes and { bytes = first.bytes } or { variable = true }
end

local function prepare(tuning, target, session)
    local pool, reason = tune_pool.new(target, session)
    if not pool then
        return nil, reason
    end
    local ok
    ok, reason = pool:start(target.counts[math.ceil(#target.counts / 2)])
    if not ok then
        return nil, reason
    end
    target.expect, reason = expectation(pool)
    if not target.expect then
        return nil, reason
    end
    tuning.base, reason = sweep.base(pool, target, session)
    if not tuning.base then
        return nil, reason
    end
    tuning.page, tuning.commands = pool.page, pool.commands
    return { pool = pool, target = target, points = {}, twin = {}, rounds = 0,
        twin_count = target.counts[math.ceil(#target.counts / 2)] }
end

local function mark(tuning, text)
    tuning.marks = tuning.marks or {}
    table.insert(tuning.marks, text)
end

-- The point that a quota held back most.
local function mark_throttling(tuning)
    local worst
    for _, row in ipairs(tuning.rows) do
        for _, point in ipairs(row.points) do
            worst = point.throttled and (not worst or point.throttled.share > worst.share) and point.throttled or worst
        end
    end
    if worst then
        mark(tuning, limits.throttled_text(worst) .. " of a measurement: the rates and the longest waits are the quota's")
    end
end

local function conclude(tuning, work, session)
    local noise, pairs_seen = noise_of(work)
    tuning.noise, tuning.noise_pairs = noise, pairs_seen
    local choice = recommend.choose(tuning.rows, tuning.goals, tuning.need, noise)
    tuning.fit, tuning.memory = choice.fit, choice.memory
    local busiest = 0
    for _, row in ipairs(tuning.rows) do
        busiest = math.max(busiest, row.cpu.other or 0)
    end
    if busiest > OTHERS_NOTED * session.cpus then
        mark(tuning, ("other programs used up to %.2f of %.4g processors during the sweep: quiet the machine and repeat"):format(
            busiest, session.cpus))
    end
    mark_throttling(tuning)
    tuning.recommendation = choice
    tuning.curves = tune_text.curves(tuning)
    if choice.children then
        tuning.lines = tune_text.lines(choice.children, tuning, {
            somaxconn = session.somaxconn, front_workers = work.pool.front_workers or 1,
            config_lines = work.pool.config_lines, blocks = work.pool.blocks,
            kind = work.pool.kind,
        })
        tuning.capacity = recommend.capacity(tuning.load.rate_per_s or choice.row.rate.mean, {
            best_per_s = choice.best.rate.mean, children = choice.children, memory_kib = choice.row.pss_kib,
            response_s = tuning.base.response_s,
        })
        tuning.assumptions = recommend.assumptions
    end
    tuning.complete = true
end

local function new_tuning(target)
    return {
        name = target.name, pool = target.pool or target.command, url = target.url, complete = false, order = {}, rows = {},
        load = { connections = target.connections, rate_per_s = target.rate_per_s, keep_alive = target.keep_alive,
            seconds = target.seconds, threads = target.threads, direct = target.direct },
        goals = { p99_us = target.p99_us, rate_per_s = target.rate_per_s,
            memory_kib = target.memory_kib or MEMORY_SHARE * limits.memory().available_kib, memory_given = target.memory_kib ~= nil },
        counts = target.counts, repeats = target.repeats,
    }
end

-- Sweeps one target. The pool is stopped whatever happens; an error passes through.
local function run_target(tuning, target, session)
    session.live:line("")
    session.live:heading(("%s: %s, counts %s"):format(tuning.name, target.rate_per_s and target.rate_per_s .. " requests/s"
        or target.connections .. " clients", table.concat(target.counts, " ")))
    local work, reason = prepare(tuning, target, session)
    interrupt.check()
    if not work then
        tuning.error = reason
        session.live:line("  cannot be measured: " .. reason)
        return
    end
    local planned = (#target.counts + 1) * target.repeats * planned_point_s(work, tuning)
    session.live.planned_s = session.live.planned_s + planned - tuning.planned_s
    for _ = 1, target.repeats do
        run_round(tuning, work, session, target.counts, work.twin_count)
    end
    if noise_of(work) <= NOISE_FOR_REFINING then
        refine(tuning, work, session, target.repeats)
    end
    conclude(tuning, work, session)
    work.pool:stop()
    session.live:line(tune_text.text(tuning))
end

-- --- the whole run -----------------------------------------------------------------------

local function finish(record, folder, parent)
    record.finished = results.time(process.wall())
    results.save(record, folder)
    tune_text.write(record, folder)
    results.mark_latest(parent, folder)
end

local function new_record(options)
    local record = { schema = results.schema, kind = "tune", started = results.time(process.wall()), seed = options.seed,
        command = options.text, complete = false, machine = {}, documents = {}, marks = {}, tunings = {} }
    for i, target in ipairs(options.targets) do
        record.tunings[i] = new_tuning(target)
        record.tunings[i].planned_s = (#target.counts + 1) * target.repeats * (target.seconds + OVERHEAD_S + RESTART_S)
    end
    return record
end

-- All targets, one after another.
local function run_targets(record, options, session)
    record.machine = machine.describe(session.root, stack.version_commands())
    session.cpus = record.machine.usable_cpus
    session.quota = record.machine.usable_cpus < record.machine.cpus and record.machine.processors or nil
    session.somaxconn = tonumber(record.machine.settings.somaxconn) or 128
    for _, tuning in ipairs(record.tunings) do
        session.live.planned_s = session.live.planned_s + tuning.planned_s
    end
    session.live:line(("%s, %s, load average %.2f"):format(record.machine.cpu or "unknown processor", record.machine.processors,
        record.machine.load_average or 0))
    for i, target in ipairs(options.targets) do
        run_target(record.tunings[i], target, session)
        session.save()
    end
    record.complete = true
end

local function work(options, root, note)
    local folder, reason = results.make_folder(options.output)
    if not folder then
        error({ usage = reason }, 0)
    end
    files.write(note, folder)
    math.randomseed(options.seed)
    local record, view = new_record(options), live.new(0, options.plain)
    local session = { root = root, client = options.client, scratch = options.scratch, live = view }
    function session.save()
        results.save(record, folder)
    end
    interrupt.shield(session.save)
    files.make_folder(session.scratch)
    local ok, failure = interrupt.attempt(run_targets, record, options, session)
    interrupt.shield(function()
        stack.down_all(interrupt.pending() ~= nil)
        tune_pool.stop_all(interrupt.pending() ~= nil)
        record.interrupted = interrupt.pending() and interrupt.name(interrupt.pending()) or nil
        record.complete = record.complete and not record.interrupted
        record.failure = not ok and not record.interrupted and tostring(failure) or nil
        finish(record, folder, options.output)
        view:line(("\n%sresults: %s"):format(record.complete and "" or "incomplete: what was measured is kept and marked\n",
            folder))
    end)
    if not ok then
        error(failure, 0)
    end
    return tune.exit_code(record)
end

--- 0: every target has a recommendation or a reasoned refusal; 3: one could not be measured.
function tune.exit_code(record)
    for _, tuning in ipairs(record.tunings) do
        if tuning.error then
            return 3
        end
    end
    return 0
end

--- bench/bench tune ...: <arguments> after the word, <root> the checkout. Returns the exit code: 0,
-- 3 a target could not be measured, 129, 130, 143 interrupted. Usage errors are raised as {usage}.
function tune.main(arguments, root)
    local options = tune_options.parse(arguments, root)
    if options.help then
        io.write(tune_options.usage())
        return 0
    end
    -- Named here, made in the supervised part: a signal before that finds nothing to remove.
    local scratch = ("%s/tune-%d"):format(os.getenv("TMPDIR") or "/tmp", unistd.getpid())
    options.scratch = scratch .. "/s"
    options.seed = options.seed or bit.band(os.time(), 0x7fffffff)
    local note = scratch .. "/folder"
    local code = interrupt.supervise(function()
        local ok, reason = stat.mkdir(scratch, PRIVATE)
        if not ok then
            error("cannot make the temporary folder: " .. reason, 0)
        end
        return work(options, root, note)
    end, function(signal_name)
        local folder = files.read(note)
        local record = folder and results.load(folder)
        if record then
            record.complete, record.interrupted = false, signal_name
            finish(record, folder, options.output)
        end
    end)
    files.remove_tree(scratch)
    return code
end

return tune
