-- One comparison, in this order: bring every stack up, verify its page, warm up until steady,
-- then rounds (rounds.lua). At the end the evidence is read, causes are named, and all is stopped.

local posix_signal = require("posix.signal")
local arms = require("bench.suite.run.arms")
local evidence = require("bench.suite.measurement.evidence")
local files = require("bench.suite.system.files")
local interrupt = require("bench.suite.system.interrupt")
local judge = require("bench.suite.analysis.judge")
local measure = require("bench.suite.measurement.measure")
local rounds = require("bench.suite.run.rounds")
local sample = require("bench.suite.measurement.sample")
local stack = require("bench.suite.bring_up.stack")
local summary = require("bench.suite.analysis.summary")
local tables = require("bench.suite.report.tables")

local comparison = {}

local function new_record(step)
    local own = step.comparison
    return {
        kind = "comparison", name = own.name, title = own.title, about = own.about, page = own.page or own.path,
        load = own.load, expect = own.expect, headers = own.headers, published_claims = own.claims,
        slot_s = step.slot_s, slot_requests = step.requests, timeout_s = step.timeout_s,
        rounds = 0, rounds_planned = step.rounds_planned, extra_rounds = 0, notes = {}, arms = {}, complete = false,
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
        local arm, handle = arms.bring_up(planned, context)
        record.arms[#record.arms + 1] = arm
        if handle then
            context.handles[#context.handles + 1] = handle
            if arms.verify(step, planned, arm, handle) then
                running[#running + 1] = { arm = arm, handle = handle }
            end
        end
        for _, text in ipairs(handle and handle.notes or {}) do
            record.notes[#record.notes + 1] = ("%s: %s."):format(arm.key, text)
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
            paths[#paths + 1] = not slot.twin and not summary.slot_failure(slot) and slot._raw or nil
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

-- The arms and claims of a finished comparison.
local function print_summary(record, context)
    for _, line in ipairs(tables.lines(tables.terminal(record))) do
        context.live:line(line)
    end
    for _, claim in ipairs(record.claims) do
        local ratio = (claim.pair or {}).ratio
        context.live:line(("  %s against %s: %s%s: %s"):format(claim.faster, claim.slower,
            claim.published_ratio and ("published %.2f x, "):format(claim.published_ratio) or "",
            ratio and ("measured %.2f x"):format(ratio) or "not measured", claim.judgement_text
                .. (claim.unlike and " (" .. claim.unlike .. ")" or "")))
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
            arms.warm_up(step, entry.arm, entry.handle, context)
        end
        rounds.run(step, running, context, record, context.allowance_s)
        merge_latencies(running, context)
        for _, entry in ipairs(running) do
            local trouble = summary.trouble(entry.arm)
            entry.arm.state, entry.arm.reason = trouble and "failed" or "measured", trouble
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
