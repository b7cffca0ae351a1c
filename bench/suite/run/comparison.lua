-- One comparison, in this order: bring every stack up, verify its page, warm up until steady,
-- then rounds; each round measures every arm once, in random order, and one of them twice (the A/A
-- pair of the noise floor). At the end the evidence is read, causes are named, and all is stopped.

local posix_signal = require("posix.signal")
local evidence = require("bench.suite.measurement.evidence")
local files = require("bench.suite.system.files")
local http = require("bench.suite.system.http")
local interrupt = require("bench.suite.system.interrupt")
local judge = require("bench.suite.analysis.judge")
local measure = require("bench.suite.measurement.measure")
local plan = require("bench.suite.run.plan")
local proc = require("bench.suite.system.proc")
local process = require("bench.suite.system.process")
local quiet = require("bench.suite.measurement.quiet")
local sample = require("bench.suite.measurement.sample")
local stack = require("bench.suite.bring_up.stack")
local statistics = require("bench.suite.analysis.statistics")

local WARM_REQUESTS = 2 -- for each child

local comparison = {}

-- Runs <work>; an interrupt passes, any other error becomes (nil, text).
local function guarded(work, ...)
    local ok, result, reason = pcall(work, ...)
    if ok then
        return result, reason
    elseif interrupt.is(result) then
        error(result, 0)
    end
    return nil, tostring(result)
end

-- Process groups of programs that the suite did not start: {name = Lua pattern of command lines}.
local function groups_by_pattern(patterns)
    local groups = {}
    for name, pattern in pairs(patterns or {}) do
        groups[#groups + 1] = { name = name, pids = function()
            local pids = {}
            for _, pid in ipairs(proc.pids()) do
                if (proc.command(pid) or ""):find(pattern) then
                    pids[#pids + 1] = pid
                end
            end
            return pids
        end }
    end
    return groups
end

-- A handle for an address the user gives: nothing is started.
local function foreign(planned)
    local base, path = planned.url:match("^(https?://[^/]+)(.*)$")
    if not base or planned.url:match("^https") then
        return nil, "not an http:// address: " .. planned.url
    end
    local answer, reason = http.get(base, path ~= "" and path or "/", 5)
    if not answer then
        return nil, ("%s does not answer (%s)"):format(planned.url, tostring(reason))
    end
    return { url = base, pages = {}, path = path ~= "" and path or nil, logs = {},
        groups = groups_by_pattern(planned.processes),
        commands = {}, configs = {}, foreign = true }
end

local function stack_options(planned, context)
    local options = {}
    for key, value in pairs(planned.options) do
        options[key] = value
    end
    options.variant, options.page = planned.variant, planned.page
    context.folders = context.folders + 1 -- each stack has a fresh one
    options.dir = ("%s/%d"):format(context.scratch, context.folders)
    return options
end

-- Copies what the report shows of a stack: commands, and configurations as text.
local function describe(arm, handle)
    arm.children = handle.children
    arm.commands = handle.commands
    arm.configurations = {}
    for _, path in ipairs(handle.configs or {}) do
        arm.configurations[#arm.configurations + 1] = { name = path:match("([^/]+)$"), text = files.read(path, 65536) }
    end
    arm.why = handle.reasons
    arm.listen = handle.backlog
    arm.title = handle.title or arm.title
    arm.children_asked = handle.children_asked
    arm.fronts = {}
    for _, group in ipairs(handle.groups) do
        arm.fronts[#arm.fronts + 1] = group.front and group.name or nil
    end
end

--- Brings up the stack of one planned arm. Returns the arm's record and, when it runs, its handle.
function comparison.bring_up(planned, context)
    local arm = {
        key = planned.key, label = planned.label, stack = planned.stack, url = planned.url, variant = planned.variant,
        options = planned.options, published = planned.published, reference = planned.reference, expect = planned.expect,
        blocking = planned.blocking, slots = {}, state = "failed",
    }
    if planned.stack then
        local description, reason = guarded(stack.describe, planned.stack)
        if not description then
            arm.reason = tostring(reason)
            return arm
        end
        arm.title = description.title
        local missing = stack.missing(planned.stack)
        if missing then
            arm.state, arm.reason = "missing", missing
            return arm
        end
    end
    local handle, reason
    if planned.url then
        handle, reason = guarded(foreign, planned)
    else
        handle, reason = guarded(stack.up, planned.stack, stack_options(planned, context))
    end
    if not handle then
        arm.reason = tostring(reason)
        return arm
    end
    arm.state = "up"
    describe(arm, handle)
    return arm, handle
end

local function page_path(step, handle)
    return step.comparison.path or handle.path or handle.pages[step.comparison.page]
end

-- What is expected of <arm>: the comparison's expectation with the arm's own in front.
local function expectation(step, arm)
    return setmetatable(arm.expect or {}, { __index = step.comparison.expect })
end

local function load_of(step, arm, seconds, requests)
    local own, wanted = step.comparison, expectation(step, arm)
    local expect = { status = wanted.status or 200, bytes = wanted.bytes }
    -- A page without a stated length may differ from answer to answer (time, counters, addresses).
    expect.variable = not expect.bytes
    return {
        connections = own.load.connections,
        keep_alive = own.load.keep_alive,
        requests = requests,
        seconds = not requests and seconds or nil,
        timeout_s = step.timeout_s,
        headers = own.headers,
        expect = expect,
        expected_s = step.seconds,
    }
end

local function verify(step, arm, handle)
    local path = page_path(step, handle)
    if not path then
        arm.state, arm.reason = "failed", ("the stack has no page %q"):format(tostring(step.comparison.page))
        return false
    end
    arm.path = path
    arm.address = handle.url .. path
    arm.verified = guarded(measure.verify, handle, path, expectation(step, arm), step.comparison.headers)
        or { ok = false, problems = { "could not be read" } }
    if not arm.verified.ok then
        arm.state, arm.reason = "wrong answer", table.concat(arm.verified.problems, "; ")
    end
    return arm.verified.ok
end

-- Windows until three in a row are steady and every child has had two requests or so (the first
-- one of a child costs it its page faults and caches), at most warmup.max_s; stated in the record.
local function warm_up(step, arm, handle, context)
    local rates, settings = {}, step.warmup
    if step.comparison.load.wait_s then
        -- A waiting page has no caches worth seconds of waiting; one answer of each client is enough.
        arm.warmup = { windows_per_s = {}, steady = true, discarded_s = 0 }
        return
    end
    local steady, requests, spent_s = nil, 0, 0
    local enough = WARM_REQUESTS * (tonumber(handle.children) or 1)
    quiet.settle(context)
    local began = process.now()
    -- By the clock: a stack that is out of its depth takes seconds to end a window of 0.3 s.
    while not steady and spent_s + settings.window_s <= settings.max_s + 1e-9 do
        context.live:status(("%s  %s  warming up %s"):format(step.document.name, step.comparison.name, arm.key))
        local slot = measure.slot(handle, arm.path, load_of(step, arm, settings.window_s), context)
        rates[#rates + 1] = slot.ok_per_s or 0
        requests = requests + (slot.client and slot.client.requests.ok or 0)
        spent_s = process.now() - began
        steady = requests >= enough and statistics.steady_from(rates, 3, settings.tolerance)
    end
    arm.warmup = { windows_per_s = rates, steady = steady and true or false, requests = requests, discarded_s = spent_s }
end

local function measure_one(step, entry, round, twin, context)
    local arm = entry.arm
    quiet.settle(context)
    local before = quiet.cpu_times()
    context.tick = function()
        context.live:status(("%s  %s  round %d/%d  %s  %s"):format(step.document.name, step.comparison.name, round, step.rounds,
            arm.key, arm.last_per_s and ("%.0f/s"):format(arm.last_per_s) or ""))
    end
    context.tick()
    local slot = measure.slot(entry.handle, arm.path, load_of(step, arm, step.slot_s, step.requests), context)
    context.tick = nil
    slot.round, slot.twin = round, twin or nil
    slot.foreign_cpus = quiet.foreign_cpus(before, quiet.cpu_times(), slot)
    if entry.handle.unreaped and slot.foreign_cpus then
        measure.add_server_cpu(slot, slot.foreign_cpus * slot.elapsed_s)
        slot.foreign_cpus = nil
    end
    arm.slots[#arm.slots + 1] = slot
    arm.last_per_s = slot.ok_per_s
    if slot.error then
        context.live:line(("  %s, round %d: %s"):format(arm.key, round, slot.error))
    end
end

-- The arm that is measured twice: the one that most claims are about, the first of equals. Its noise
-- decides over all of them.
local function twin_of(step, running)
    local twin, most = running[1], 0
    for _, entry in ipairs(running) do
        local count = 0
        for _, claim in ipairs(step.comparison.claims) do
            count = count + ((claim.faster == entry.arm.key or claim.slower == entry.arm.key) and 1 or 0)
        end
        if count > most then
            twin, most = entry, count
        end
    end
    return twin
end

local function rounds(step, running, context, record)
    if #running == 0 then
        return
    end
    local twin = twin_of(step, running)
    local slot_plan_s = step.seconds / plan.slots(step)
    for round = 1, step.rounds do
        local order = {}
        for _, entry in ipairs(running) do
            order[#order + 1] = { entry = entry, twin = false }
        end
        order[#order + 1] = { entry = twin, twin = true }
        for position, item in ipairs(plan.shuffled(order, context.random)) do
            measure_one(step, item.entry, round, item.twin, context)
            local arm = item.entry.arm
            arm.slots[#arm.slots].position = position
            context.live:advance(slot_plan_s)
        end
        record.rounds = round
    end
end

local function new_record(step)
    local own = step.comparison
    local arms = {}
    return {
        kind = "comparison", name = own.name, title = own.title, about = own.about, page = own.page or own.path,
        load = own.load, expect = own.expect, headers = own.headers, published_claims = own.claims,
        slot_s = step.slot_s, slot_requests = step.requests, timeout_s = step.timeout_s,
        rounds = 0, rounds_planned = step.rounds_planned, arms = arms, complete = false,
    }
end

local function announce(arm, context)
    if arm.state == "missing" then
        context.live:line(("  %s: %s"):format(arm.key, arm.reason))
    elseif arm.state ~= "up" then
        context.live:line(("  %s: %s: %s"):format(arm.key, arm.state, tostring(arm.reason):sub(1, 200):gsub("\n.*", "")))
    end
end

local function start_all(step, context, record)
    local running = {}
    for _, planned in ipairs(step.arms) do
        context.live:status(("%s  %s  starting %s"):format(step.document.name, step.comparison.name, planned.key))
        local arm, handle = comparison.bring_up(planned, context)
        record.arms[#record.arms + 1] = arm
        if handle then
            context.handles[#context.handles + 1] = handle
            if verify(step, arm, handle) then
                running[#running + 1] = { arm = arm, handle = handle }
            end
        end
        announce(arm, context)
    end
    return running
end

--- Stops the stacks that the context has up, also after an interrupt.
function comparison.stop_all(context)
    interrupt.shield(function()
        -- All are told before the first is waited for: together they take as long as the slowest.
        for _, handle in ipairs(context.handles) do
            if handle.keeper then
                -- After an interrupt nobody waits for a thousand children to take their leave.
                posix_signal.kill(handle.keeper.pid, interrupt.pending() and posix_signal.SIGINT or posix_signal.SIGTERM)
            end
        end
        for _, handle in ipairs(context.handles) do
            if not handle.foreign then
                pcall(stack.down, handle)
                files.remove_tree(handle.folder)
            end
        end
        context.handles = {}
    end)
end

-- Percentiles over all slots of each arm, from their merged histograms; and memory at the end.
local function merge_latencies(running, context)
    for _, entry in ipairs(running) do
        local paths = {}
        for _, slot in ipairs(entry.arm.slots) do
            paths[#paths + 1] = not slot.twin and slot._raw or nil
        end
        if #paths > 0 then
            entry.arm.merged = measure.merge(context.client, paths, context.scratch)
        end
        entry.arm.memory = {}
        for name, group in pairs(sample.take(entry.handle.groups, { memory = true }).groups) do
            entry.arm.memory[name] = { pss_kib = group.pss_kib, rss_kib = group.rss_kib, processes = group.count }
        end
    end
end

-- One line for each arm of a finished comparison.
local function print_summary(record, context)
    for _, arm in ipairs(record.arms) do
        local summary = arm.summary
        if summary then
            local function ms(us)
                return us and ("%.2f ms"):format(us / 1000) or "n/a"
            end
            local cpu_us = summary.server_cpu_us_per_request
            context.live:line(("  %-30s %9.0f/s  p50 %10s  p99 %10s  %5s us CPU/request%s"):format(arm.key,
                summary.ok_per_s.median, ms(summary.response_us.p50), ms(summary.response_us.p99),
                cpu_us and ("%.0f"):format(cpu_us) or "n/a",
                summary.failed_share > 0 and ("  %.1f %% failed"):format(summary.failed_share * 100) or ""))
        end
    end
    for _, claim in ipairs(record.claims) do
        local pair = claim.pair
        local now = pair and ("%.2f x"):format(pair.ratio or 0) or "-"
        local published = claim.published_ratio
        context.live:line(published
            and ("  then %s %.2f x %s; now %s: %s"):format(claim.faster, published, claim.slower, now, claim.judgement_text)
            or ("  %s against %s: %s: %s"):format(claim.faster, claim.slower, now, claim.judgement_text))
    end
end

--- Carries out <step> and fills <record> as it goes (so that an interrupt keeps what there is).
-- context: root, client, scratch, live, random, cpus, handles, folders.
function comparison.run(step, context, records)
    local record = new_record(step)
    records[#records + 1] = record
    context.live:heading(("%s: %s"):format(step.document.name, step.comparison.title))
    local ok, failure = pcall(function()
        local running = start_all(step, context, record)
        for _, entry in ipairs(running) do
            warm_up(step, entry.arm, entry.handle, context)
        end
        rounds(step, running, context, record)
        merge_latencies(running, context)
        for _, entry in ipairs(running) do
            entry.arm.state = "measured"
            evidence.gather(entry.arm, entry.handle, step.comparison.load.wait_s)
        end
        record.complete = true
    end)
    comparison.stop_all(context)
    interrupt.shield(function()
        for _, arm in ipairs(record.arms) do
            arm.last_per_s = nil
        end
        judge.comparison(record, context.cpus)
        print_summary(record, context)
    end)
    if not ok then
        error(failure, 0)
    end
end

return comparison
