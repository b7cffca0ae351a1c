-- A whole run: plan, steps one after another, results saved after each, reports at the end.

local comparison = require("bench.suite.run.comparison")
local experiments = require("bench.suite.run.experiments")
local files = require("bench.suite.system.files")
local interpreters = require("bench.suite.run.interpreters")
local interrupt = require("bench.suite.system.interrupt")
local live = require("bench.suite.report.live")
local machine = require("bench.suite.system.machine")
local plan = require("bench.suite.run.plan")
local process = require("bench.suite.system.process")
local report = require("bench.suite.report.report")
local results = require("bench.suite.report.results")
local stack = require("bench.suite.bring_up.stack")
local story = require("bench.suite.report.story")
local summary = require("bench.suite.analysis.summary")

local run = {}

local CARRY_OUT = {
    programs = interpreters.run,
    comparison = comparison.run,
    experiment = experiments.run,
}

local DOCUMENT_FIELDS = { "name", "title", "year", "question", "setting", "reading", "today", "advice", "clock_s", "across" }

local function new_results(the_plan, options, root)
    local record = {
        schema = results.schema,
        started = results.time(process.wall()),
        profile = the_plan.profile,
        planned_s = the_plan.seconds,
        slot_s = the_plan.slot_s,
        command = options.command,
        seed = options.seed,
        complete = false,
        machine = machine.describe(root, stack.version_commands()),
        marks = {},
        documents = {},
    }
    local load, cpus = record.machine.load_average or 0, record.machine.usable_cpus
    if load > 0.5 * cpus then
        record.marks[1] = ("the load average was %.1f on %s before the run began"):format(load, record.machine.processors)
    end
    return record
end

-- The record of the step's document: made when its first step begins.
local function document_record(record, document)
    for _, known in ipairs(record.documents) do
        if known.name == document.name then
            return known
        end
    end
    local new = { parts = {} }
    for _, field in ipairs(DOCUMENT_FIELDS) do
        new[field] = document[field]
    end
    record.documents[#record.documents + 1] = new
    return new
end

local function save(record, folder)
    local ok, reason = results.save(record, folder)
    if not ok then
        error("the results cannot be saved: " .. tostring(reason), 0)
    end
end

-- Slots in which other programs kept more than a quarter of a processor busy: said at the top, since
-- no statistics can take it out again.
local function mark_disturbance(record)
    local slots, disturbed = 0, 0
    for _, document in ipairs(record.documents) do
        for _, part in ipairs(document.parts) do
            for _, arm in ipairs(part.arms or {}) do
                for _, slot in ipairs(arm.slots) do
                    slots = slots + 1
                    disturbed = disturbed + ((slot.foreign_cpus or 0) > summary.foreign_limit and 1 or 0)
                end
            end
        end
    end
    if slots > 0 and disturbed / slots > 0.1 then
        local names = {}
        for i, program in ipairs(story.others(record, 3)) do
            names[i] = ("%s (%.0f %% of a processor)"):format(program.name, program.share * 100)
        end
        record.marks[#record.marks + 1] = ("other programs used the processors in %.0f %% of the slots%s: "
            .. "these figures describe a shared machine"):format(disturbed / slots * 100,
            #names > 0 and ", most of all " .. table.concat(names, ", ") or "")
    end
end

-- Ends a run, whole or not: results, reports, the link, and the last lines on the terminal.
local function finish(record, folder, parent, view)
    record.finished = results.time(process.wall())
    save(record, folder)
    -- From the file, so that rendering it again gives the same pages.
    report.write(results.load(folder) or record, folder)
    local linked, reason = results.mark_latest(parent, folder)
    if view and not linked then
        view:line("note: latest does not point to this run: " .. tostring(reason))
    end
    if view then
        view:line("")
        view:line(record.complete and "complete" or "incomplete: what was measured is kept and marked")
        for _, name in ipairs({ "report.html", "report.md", "results.json" }) do
            view:line(("%-13s %s/%s"):format(name, folder, name))
        end
    end
end

local function announce(the_plan, view, record)
    local facts = record.machine
    view:line(("%s, %s, %s"):format(facts.cpu or "unknown processor", facts.processors, facts.kernel))
    view:line(("profile %s: %d steps, %s planned%s"):format(the_plan.profile, #the_plan.steps, live.clock(the_plan.seconds),
        the_plan.limit_s and (", at most %s with more rounds for open claims"):format(live.clock(the_plan.limit_s)) or ""))
    for _, mark in ipairs(record.marks) do
        view:line("note: " .. mark)
    end
end

--- Carries out a run. options: root (checkout), client (path of the load client), output (parent
-- folder of results), documents (list, loaded), profile, overrides (see plan.build), seed, plain,
-- command (text for the record). Returns the exit code: 0, or 3 when a page was wrong or a stack
-- failed; an interrupt passes through after everything was stopped and saved.
function run.all(options)
    local the_plan = plan.build(options.documents, options.profile, options.overrides)
    local record = new_results(the_plan, options, options.root)
    local folder, reason = results.make_folder(options.output)
    if not folder then
        error({ usage = reason }, 0)
    end
    math.randomseed(options.seed)
    local context = {
        root = options.root, client = options.client, scratch = options.scratch, folder = folder, cpus = record.machine.usable_cpus,
        live = live.new(the_plan.seconds, options.plain), random = math.random, handles = {}, folders = 0,
    }
    if options.on_folder then
        options.on_folder(folder)
    end
    assert(files.make_folder(context.scratch))
    save(record, folder) -- what cannot be written is an error now, not after the measuring
    announce(the_plan, context.live, record)
    local began = process.now()
    local ok, failure = interrupt.attempt(function()
        for number, step in ipairs(the_plan.steps) do
            local before = context.live.done_s
            if step.kind == "comparison" then
                step.rounds, step.slot_s = plan.affordable(step, before, the_plan.seconds, process.now() - began, the_plan.limit_s)
            end
            context.allowance_s = function()
                return plan.allowance(the_plan, number, process.now() - began)
            end
            local parts, step_began = document_record(record, step.document).parts, process.now()
            CARRY_OUT[step.kind](step, context, parts)
            parts[#parts].planned_s, parts[#parts].elapsed_s = step.seconds, process.now() - step_began
            context.live.done_s = before + step.seconds
            interrupt.shield(save, record, folder)
        end
        record.complete = true
    end)
    interrupt.shield(function()
        if interrupt.pending() then
            stack.down_all(true)
        end
        comparison.stop_all(context)
        stack.down_all()
        record.elapsed_s = process.now() - began
        if interrupt.pending() then
            record.interrupted = interrupt.name(interrupt.pending())
        elseif not ok then
            record.failure = tostring(failure)
        end
        mark_disturbance(record)
        finish(record, folder, options.output, context.live)
    end)
    if not ok then
        error(failure, 0)
    end
    return run.exit_code(record)
end

--- 0 when every arm that is installed was measured, 3 when a stack failed or answered wrongly.
function run.exit_code(record)
    for _, document in ipairs(record.documents) do
        for _, part in ipairs(document.parts) do
            for _, arm in ipairs(part.arms or {}) do
                if arm.state == "failed" or arm.state == "wrong answer" then
                    return 3
                end
            end
            for _, cell in ipairs(part.cells or {}) do
                if #cell.runs > 0 and cell.problem then
                    return 3
                end
            end
        end
    end
    return 0
end

--- Finishes, from its saved results, a run whose process had to be killed.
function run.finish_killed(folder, parent, signal_name)
    local record = results.load(folder)
    if record then
        record.complete, record.interrupted = false, signal_name
        finish(record, folder, parent)
    end
end

return run
