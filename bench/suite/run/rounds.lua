-- The rounds of a comparison. Each measures every arm once, in random order, and one of them twice (the
-- A/A pair of the noise). A first slot that was still warming up is measured again, and so is one in which other
-- programs were much busier than usual. Then the rounds go where they decide: the pairs of claims that are
-- still open are measured on, alone, as analysis/sequential.lua says and as time allows.

local arms = require("bench.suite.run.arms")
local judge = require("bench.suite.analysis.judge")
local neighbours = require("bench.suite.measurement.neighbours")
local plan = require("bench.suite.run.plan")
local process = require("bench.suite.system.process")
local sequential = require("bench.suite.analysis.sequential")
local statistics = require("bench.suite.analysis.statistics")
local summary = require("bench.suite.analysis.summary")

local rounds = {}

-- A slot is measured again when others used so many times what they usually did; so often at most, as a part of
-- the slots that were planned.
local DISTURBED, REPEATED_AT_MOST = 2, 0.1
-- An open claim that would take more rounds than these is left open: the time helps others more.
local HOPELESS = 3 * sequential.most
local PROGRAMS_NAMED = 10

-- The arm that is measured twice: the one that most claims are about, the first of equals. Its noise
-- decides over all of them.
local function twin_of(step, running)
    local twin, most = running[1], 0
    for _, entry in ipairs(running) do
        local count = 0
        for _, claim in ipairs(step.comparison.claims) do
            for _, side in ipairs({ claim.faster, claim.slower }) do
                count = count + ((side == entry.arm.key or side == entry.arm.label) and 1 or 0)
            end
        end
        if count > most then
            twin, most = entry, count
        end
    end
    return twin
end

-- Takes the slot <index> of <arm> out of the figures, for <reason>; it stays in the record.
local function discard(arm, index, reason)
    local slot = table.remove(arm.slots, index)
    slot.discarded = reason
    arm.discarded = arm.discarded or {}
    arm.discarded[#arm.discarded + 1] = slot
end

-- Were others much busier during <slot> than they usually are in this comparison?
local function disturbed(slot, usual)
    local typical = statistics.median(usual)
    return (slot.foreign_cpus or 0) > summary.foreign_limit and typical ~= nil and #usual >= 3
        and slot.foreign_cpus > DISTURBED * math.max(typical, 0.05)
end

-- One slot, measured again at once when others disturbed it.
local function measure(state, entry, round, twin, position)
    local arm = entry.arm
    local slot = arms.measure(state.step, entry, round, twin, state.context)
    slot.position = position
    if not arm.ended and disturbed(slot, state.usual) and state.repeats > 0 then
        state.repeats = state.repeats - 1
        discard(arm, #arm.slots, ("other programs used %.2f processors"):format(slot.foreign_cpus))
        slot = arms.measure(state.step, entry, round, twin, state.context)
        slot.position, slot.repeated = position, true
    end
    state.usual[#state.usual + 1] = slot.foreign_cpus
end

-- After the second round: first slots that cost more than the later ones are measured again.
local function repeat_warming(state, running)
    for _, entry in ipairs(running) do
        local arm = entry.arm
        local reason = not arm.ended and summary.warming(arm.slots)
        if reason then
            local first = arm.slots[1]
            discard(arm, 1, reason)
            arms.measure(state.step, entry, first.round, first.twin, state.context)
            local again = table.remove(arm.slots)
            again.position, again.repeated = first.position, true
            table.insert(arm.slots, 1, again)
        end
    end
end

-- The entries of the claims that more rounds may still decide, and how many claims these are.
local function open_entries(state, running)
    local by_name, chosen, list, count = {}, {}, {}, 0
    for _, entry in ipairs(running) do
        by_name[entry.arm.key] = entry
        if entry.arm.variant == "documented" or not by_name[entry.arm.label] then
            by_name[entry.arm.label] = by_name[entry.arm.label] or entry
        end
    end
    for _, claim in ipairs(state.step.comparison.claims) do
        local fast, slow = by_name[claim.faster], by_name[claim.slower]
        local settled = fast and slow and (judge.published_errors(fast.arm.published) or judge.published_errors(slow.arm.published))
        local pair = fast and slow and not settled and judge.pair(slow.arm, fast.arm, state.floor)
        if pair and pair.decision == "open" and pair.needed <= HOPELESS then
            count = count + 1
            for _, entry in ipairs({ fast, slow }) do
                if not chosen[entry] then
                    chosen[entry], list[#list + 1] = true, entry
                end
            end
        end
    end
    return list, count
end

-- Rounds of the open claims alone, until all are decided, the last look is taken or <allowance_s> is over.
local function extend(state, running, allowance_s)
    local record, round, began = state.record, state.record.rounds, process.now()
    local open = round >= sequential.fewest and open_entries(state, running) or {}
    while #open > 0 and round < sequential.most do
        local round_began = process.now()
        round = round + 1
        for position, entry in ipairs(plan.shuffled(open, state.context.random)) do
            measure(state, entry, round, nil, position)
        end
        record.extra_rounds = round - record.rounds
        if sequential.due(round) then
            open = open_entries(state, running)
        end
        local now = process.now()
        if now - began + (now - round_began) > allowance_s then
            break
        end
    end
end

--- Measures all rounds of <step> on <running> (list of {arm, handle}); fills record.rounds, record.extra_rounds and
-- record.others (programs that used the processors meanwhile: list of {name, cpus}). allowance_s(): the seconds
-- that may go to open claims, asked when the planned rounds are over.
function rounds.run(step, running, context, record, allowance_s)
    if #running == 0 then
        return
    end
    local twin = twin_of(step, running)
    local slot_plan_s = step.seconds / plan.slots(step)
    local state = { step = step, context = context, record = record, usual = {}, repeats = math.ceil(plan.slots(step) * REPEATED_AT_MOST) }
    local before, began = neighbours.look(), process.now()
    for round = 1, step.rounds do
        local order = {}
        for _, entry in ipairs(running) do
            order[#order + 1] = { entry = entry, twin = false }
        end
        order[#order + 1] = { entry = twin, twin = true }
        for position, item in ipairs(plan.shuffled(order, context.random)) do
            if not item.entry.arm.ended then
                measure(state, item.entry, round, item.twin, position)
            end
            context.live:advance(slot_plan_s)
        end
        record.rounds = round
        if round == 2 and not step.comparison.load.wait_s then
            repeat_warming(state, running)
        end
    end
    local list = {}
    for i, entry in ipairs(running) do
        list[i] = entry.arm
    end
    state.floor = judge.noise(list).floor
    extend(state, running, allowance_s and allowance_s() or 0)
    local ours, span_s = neighbours.ours(), process.now() - began
    for _, entry in ipairs(running) do
        for _, group in ipairs(entry.handle.groups) do
            for _, pid in ipairs(group.pids()) do
                ours[pid] = true
            end
        end
    end
    record.others = {}
    for i, program in ipairs(neighbours.busy(before, neighbours.look(), ours)) do
        record.others[i] = i <= PROGRAMS_NAMED and { name = program.name, cpus = program.cpu_s / span_s } or nil
    end
end

return rounds
