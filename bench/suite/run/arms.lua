-- One arm of a comparison: brought up, its page verified, warmed up, measured slot by slot, and
-- looked after: a program that ended is noticed with the slot in which it ended.

local files = require("bench.suite.system.files")
local http = require("bench.suite.system.http")
local interrupt = require("bench.suite.system.interrupt")
local keeper = require("bench.suite.bring_up.keeper")
local measure = require("bench.suite.measurement.measure")
local neighbours = require("bench.suite.measurement.neighbours")
local proc = require("bench.suite.system.proc")
local process = require("bench.suite.system.process")
local quiet = require("bench.suite.measurement.quiet")
local stack = require("bench.suite.bring_up.stack")
local statistics = require("bench.suite.analysis.statistics")
local summary = require("bench.suite.analysis.summary")

local WARM_REQUESTS = 2 -- for each child

local arms = {}

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
-- The suite itself and the stacks that it runs are never among them.
local function groups_by_pattern(patterns)
    local groups = {}
    for name, pattern in pairs(patterns or {}) do
        groups[#groups + 1] = { name = name, pids = function()
            local pids, ours = {}, neighbours.ours()
            for _, pid in ipairs(proc.pids()) do
                if not ours[pid] and (proc.command(pid) or ""):find(pattern) then
                    pids[#pids + 1] = pid
                end
            end
            return pids
        end }
    end
    return groups
end

-- The processes that listen at <address>, when they are on this machine and none of the suite's.
local function listeners(address)
    local pids, ours = {}, neighbours.ours()
    for _, pid in ipairs(http.is_local(address.host) and neighbours.listening(address.port) or {}) do
        pids[#pids + 1] = not ours[pid] and pid or nil
    end
    return pids
end

-- What the groups of an address miss: processes that listen there and are in none of them, as a line.
local function unnamed(planned, address, groups)
    local known, names, count = {}, {}, 0
    for _, group in ipairs(groups) do
        for _, pid in ipairs(group.pids()) do
            known[pid] = true
        end
    end
    for _, pid in ipairs(listeners(address)) do
        if not known[pid] then
            count = count + 1
            names[neighbours.name(pid) or "?"] = true
        end
    end
    local list = {}
    for name in pairs(names) do
        list[#list + 1] = name
    end
    table.sort(list)
    return count > 0 and ("%d %s behind %s that no pattern of `processes` names (%s): their processor time is in no figure"):format(count,
        count == 1 and "process listens" or "processes listen", planned.url, table.concat(list, ", ")) or nil
end

-- A handle for an address the user gives: nothing is started.
local function foreign(planned)
    local address, problem = http.split(planned.url)
    if not address then
        return nil, problem
    end
    local answer, reason = http.get(address.base, address.path or "/", 5)
    if not answer then
        return nil, ("%s does not answer (%s)"):format(planned.url, tostring(reason))
    end
    local groups = groups_by_pattern(planned.processes)
    local notes = { planned.processes and unnamed(planned, address, groups) or nil }
    if not planned.processes and #listeners(address) > 0 then
        -- Without patterns: who listens there, and what they started.
        groups = { { name = "listening", pids = function()
            return listeners(address)
        end } }
    end
    return { url = address.base, pages = {}, path = address.path, logs = {}, groups = groups, notes = notes,
        commands = {}, configs = {}, foreign = true }
end

local function stack_options(planned, context)
    local options = {}
    for key, value in pairs(planned.options) do
        options[key] = value
    end
    options.variant, options.page = options.variant or planned.variant, (planned.page or ""):match("^[^?]+")
    context.folders = context.folders + 1 -- each stack has a fresh one
    options.dir = ("%s/%d"):format(context.scratch, context.folders)
    return options
end

-- Copies what the report shows of a stack: commands, and configurations as text.
local function describe(arm, handle, why)
    arm.children = handle.children
    arm.commands = handle.commands
    arm.configurations = {}
    for _, path in ipairs(handle.configs or {}) do
        arm.configurations[#arm.configurations + 1] = { name = path:match("([^/]+)$"), text = files.read(path, 65536) }
    end
    arm.why = why or handle.reasons
    arm.listen = handle.backlog
    arm.title = handle.title or arm.title
    arm.children_asked = handle.children_asked
    arm.notes = handle.notes
    arm.fronts = {}
    for _, group in ipairs(handle.groups) do
        arm.fronts[#arm.fronts + 1] = group.front and group.name or nil
    end
end

--- Brings up the stack of one planned arm. Returns the arm's record and, when it runs, its handle.
function arms.bring_up(planned, context)
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
        if arm.blocking == nil and description.blocking then
            arm.blocking = true
        end
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
    describe(arm, handle, planned.why)
    return arm, handle
end

-- The path to measure: the arm's own, the comparison's, the address's, or the one of the stack's page. A
-- query of the page takes the place of the stack's.
local function page_path(step, planned, handle)
    local fixed = planned.path or step.comparison.path or handle.path
    local name, query = (planned.page or ""):match("^([^?]*)(.*)$")
    local path = handle.pages[name]
    if fixed or not path then
        return fixed
    end
    return query ~= "" and path:match("^[^?]*") .. query or path
end

-- What is expected of <arm>: the comparison's expectation with the arm's own in front.
local function expectation(step, arm)
    return setmetatable(arm.expect or {}, { __index = step.comparison.expect })
end

-- The file with the body that each request sends; nil when they send none.
local function post_file(step, context)
    local count = step.comparison.load.post_bytes
    local path = count and ("%s/body-%d"):format(context.scratch, count)
    if path and not files.kind(path) then
        assert(files.write(path, measure.body(count)))
    end
    return path
end

local function load_of(step, arm, context, seconds, requests)
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
        post_file = post_file(step, context),
        expect = expect,
        expected_s = step.seconds,
    }
end

--- Looks at the arm's page once; true when it is the expected one, else the arm's state says why not.
function arms.verify(step, planned, arm, handle)
    local path = page_path(step, planned, handle)
    if not path then
        arm.state, arm.reason = "failed", ("the stack has no page %q"):format(tostring(planned.page))
        return false
    end
    arm.path = path
    arm.address = handle.url .. path
    local posted = step.comparison.load.post_bytes
    arm.verified = guarded(measure.verify, handle, path, expectation(step, arm), step.comparison.headers,
        posted and measure.body(posted))
        or { ok = false, problems = { "could not be read" } }
    if not arm.verified.ok then
        arm.state, arm.reason = "wrong answer", table.concat(arm.verified.problems, "; ")
    end
    return arm.verified.ok
end

--- Windows until three in a row are steady and every child has had two requests or so (the first
-- one of a child costs it its page faults and caches), at most warmup.max_s; stated in the record.
function arms.warm_up(step, arm, handle, context)
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
        local slot = measure.slot(handle, arm.path, load_of(step, arm, context, settings.window_s), context)
        rates[#rates + 1] = slot.ok_per_s or 0
        requests = requests + (slot.client and slot.client.requests.ok or 0)
        spent_s = process.now() - began
        steady = requests >= enough and statistics.steady_from(rates, 3, settings.tolerance)
    end
    arm.warmup = { windows_per_s = rates, steady = steady and true or false, requests = requests, discarded_s = spent_s }
end

-- What ended while the slot ran: a program of the stack by itself, or a server at somebody's address
-- that does not answer any more. nil when all live.
local function ending(entry, slot)
    local handle = entry.handle
    if handle.keeper then
        keeper.listen(handle.keeper)
        local exit = handle.keeper.exits[1]
        return exit and ("%s ended by itself (%s)"):format(exit.name, exit.reason)
    elseif handle.foreign and summary.slot_failure(slot) then
        local answer, reason = http.get(handle.url, entry.arm.path, 2)
        return not answer and ("%s does not answer any more (%s)"):format(entry.arm.url, tostring(reason)) or nil
    end
end

--- Measures one slot of <entry> {arm, handle} and appends it to the arm's slots. When something ended the
-- arm has `ended` {after_round, reason} afterwards and is not measured again.
function arms.measure(step, entry, round, twin, context)
    local arm = entry.arm
    quiet.settle(context)
    local before = quiet.cpu_times()
    context.tick = function()
        context.live:status(("%s  %s  round %d/%d  %s  %s"):format(step.document.name, step.comparison.name, round, step.rounds,
            arm.key, arm.last_per_s and ("%.0f/s"):format(arm.last_per_s) or ""))
    end
    context.tick()
    local slot = measure.slot(entry.handle, arm.path, load_of(step, arm, context, step.slot_s, step.requests), context)
    context.tick = nil
    slot.round, slot.twin = round, twin or nil
    slot.foreign_cpus = quiet.foreign_cpus(before, quiet.cpu_times(), slot)
    if entry.handle.unreaped and slot.foreign_cpus then
        measure.add_server_cpu(slot, slot.foreign_cpus * slot.elapsed_s)
        slot.foreign_cpus = nil
    end
    arm.slots[#arm.slots + 1] = slot
    arm.last_per_s = slot.ok_per_s
    local failure, reason = summary.slot_failure(slot), ending(entry, slot)
    if reason then
        arm.ended = { after_round = round - 1, reason = reason }
        context.live:line(("  %s, round %d: %s: not measured any more"):format(arm.key, round, reason))
    elseif failure then
        context.live:line(("  %s, round %d: %s"):format(arm.key, round, failure))
    end
    return slot
end

return arms
