-- The plan: which slots are measured, how long each, and so how much time a run takes. Pure.
--
-- One slot is one run of the load client against one arm. A comparison has rounds; each round
-- measures every arm once, in random order, and one arm twice: the twin is the A/A pair
-- that gives the noise floor under the very conditions of the comparison.

local plan = {}

--- The profiles. limit_s: what the planned rounds leave of it goes to open claims; a run that is behind its plan
-- measures shorter slots, then fewer rounds, rather than take longer. extra_part: without a limit, the
-- part of a comparison's own time that may go to its open claims (0: none). budget_s: the slot length is chosen so that the whole run takes about this long
-- (between slot_s.min and slot_s.max). warmup: windows of window_s until three in a row are within
-- `tolerance` of their mean, at most max_s. own_counts: the documents' own request counts.
plan.profiles = {
    default = { rounds = 5, budget_s = 340, limit_s = 450, slot_s = { min = 0.3, max = 1.5 }, tuned = true, experiments = true, program_rounds = 5,
        warmup = { window_s = 0.2, max_s = 2.4, tolerance = 0.10 } },
    quick = { rounds = 2, extra_part = 0, slot_s = { min = 0.2, max = 0.2 }, tuned = false, experiments = false, program_rounds = 1, slow_rounds = 1,
        warmup = { window_s = 0.1, max_s = 0.1, tolerance = 0.10 } },
    thorough = { rounds = 10, extra_part = 0.5, slot_s = { min = 3, max = 3 }, tuned = true, experiments = true, program_rounds = 10, slow_rounds = 5,
        warmup = { window_s = 1, max_s = 10, tolerance = 0.05 } },
    documented = { rounds = 3, extra_part = 0, own_counts = true, slot_s = { min = 1, max = 1 }, tuned = false, experiments = true, program_rounds = 5,
        warmup = { window_s = 0.5, max_s = 5, tolerance = 0.05 } },
}

-- Costs beside the slots themselves, measured on two shared cores; they only feed the remaining
-- time, which is corrected as the run goes on.
local STACK_UP_S, STACK_DOWN_S, SLOT_OVERHEAD_S, VERIFY_S = 0.8, 0.5, 0.1, 0.1
local PROGRAM_S, EXPERIMENT_S = 0.35, 6.4
-- Above this a documented count is measured in one round: it is long enough to repeat itself.
local MANY_REQUESTS = 1e6
-- Assumed rate for documented counts until the first slot shows the real one.
local ASSUMED_RATE_PER_S = 5000

local VARIANTS = { "documented", "tuned" }

--- The arms of a comparison as they are measured: one entry for each stack and variant.
-- {key, label, stack | url, variant, options, arm}. The key is unique within the comparison.
function plan.arms(comparison, with_tuned)
    local list = {}
    for _, arm in ipairs(comparison.arms) do
        local both = arm.documented and arm.tuned and with_tuned
        for _, variant in ipairs(VARIANTS) do
            local options = arm[variant]
            -- Without the tuned variants an arm that has no other is still measured.
            if options and (variant == "documented" or with_tuned or not arm.documented) then
                list[#list + 1] = {
                    key = both and variant == "tuned" and arm.label .. " (tuned)" or arm.label,
                    label = arm.label,
                    stack = arm.stack,
                    url = arm.url,
                    variant = variant,
                    options = options,
                    published = variant == "documented" and arm.published or nil,
                    reference = arm.reference,
                    expect = arm.expect,
                    processes = arm.processes,
                    page = arm.page or comparison.page,
                    path = arm.path,
                    blocking = arm.blocking,
                    why = arm.why,
                }
            end
        end
    end
    return list
end

local function comparison_step(document, comparison, profile)
    local own = profile.own_counts
    local measure = comparison.measure
    local many = own and comparison.load.requests > MANY_REQUESTS
    local rounds = many and 1 or profile.rounds
    if measure.rounds and not own then
        rounds = profile.slow_rounds or measure.rounds
    end
    return {
        kind = "comparison",
        document = document,
        comparison = comparison,
        arms = plan.arms(comparison, profile.tuned),
        rounds = rounds,
        rounds_planned = rounds,
        requests = own and comparison.load.requests or measure.requests,
        slot_s = measure.slot_s,
        timeout_s = measure.timeout_s or 10,
        warmup = profile.warmup,
    }
end

-- Seconds of one slot of <step>, given the slot length for slots measured by time.
local function slot_seconds(step, slot_s)
    if step.slot_s or not step.requests then
        return step.slot_s or slot_s
    end
    local wait_s = step.comparison.load.wait_s
    if wait_s then
        -- A blocking page: children / wait is the ceiling of each arm; take the middle of the field.
        return step.requests / (150 / wait_s)
    end
    return step.requests / ASSUMED_RATE_PER_S
end

--- Number of slots of a comparison's rounds, the A/A twin included.
function plan.slots(step)
    return step.rounds * (#step.arms + 1)
end

local function fixed_seconds(step)
    if step.kind == "programs" then
        return step.rounds * #step.programs.rows * #step.programs.interpreters * PROGRAM_S
    elseif step.kind == "experiment" then
        return EXPERIMENT_S
    end
    local warm = step.comparison.load.wait_s and 0 or math.min(step.warmup.max_s, 5 * step.warmup.window_s)
    return #step.arms * (STACK_UP_S + STACK_DOWN_S + VERIFY_S + warm) + plan.slots(step) * SLOT_OVERHEAD_S
end

--- Expected seconds of <step>, once plan.build() has set its slot length.
function plan.seconds(step)
    local seconds = fixed_seconds(step)
    if step.kind == "comparison" then
        seconds = seconds + plan.slots(step) * slot_seconds(step, step.slot_s)
    end
    return seconds
end

-- The slot length that fills the budget: what is left after everything of fixed length, shared by
-- the slots that are measured by time.
local function choose_slot(steps, profile)
    local limits = profile.slot_s
    if not profile.budget_s then
        return limits.min
    end
    local fixed, timed_slots = 0, 0
    for _, step in ipairs(steps) do
        fixed = fixed + fixed_seconds(step)
        if step.kind == "comparison" then
            if step.requests or step.slot_s then
                fixed = fixed + plan.slots(step) * slot_seconds(step)
            else
                timed_slots = timed_slots + plan.slots(step)
            end
        end
    end
    local share = timed_slots > 0 and (profile.budget_s - fixed) / timed_slots or limits.max
    return math.max(limits.min, math.min(limits.max, math.floor(share * 20) / 20))
end

--- The plan of a run: {profile, steps, seconds, slot_s, limit_s}. Each step is of kind "programs",
-- "comparison" or "experiment" and carries what its part of the suite needs, and `seconds`.
-- <overrides> may set rounds, slot_s (seconds), tuned, experiments.
function plan.build(documents, profile_name, overrides)
    local base = plan.profiles[profile_name]
    if not base then
        error({ usage = ("no profile %q; there are: default, quick, thorough, documented"):format(tostring(profile_name)) }, 0)
    end
    local profile = setmetatable(overrides or {}, { __index = base })
    if type(profile.slot_s) == "number" then
        profile.slot_s, profile.budget_s = { min = profile.slot_s, max = profile.slot_s }, false
    end
    local steps = {}
    for _, document in ipairs(documents) do
        if document.programs then
            steps[#steps + 1] = { kind = "programs", document = document, programs = document.programs, rounds = profile.program_rounds }
        end
        for _, comparison in ipairs(document.comparisons) do
            steps[#steps + 1] = comparison_step(document, comparison, profile)
        end
        for _, name in ipairs(profile.experiments and document.experiments or {}) do
            steps[#steps + 1] = { kind = "experiment", document = document, name = name }
        end
    end
    local slot_s, total = choose_slot(steps, profile), 0
    for _, step in ipairs(steps) do
        if step.kind == "comparison" and not step.requests then
            step.slot_s = step.slot_s or slot_s
        end
        step.seconds = plan.seconds(step)
        total = total + step.seconds
    end
    return { profile = profile_name, steps = steps, seconds = total, slot_s = slot_s, limit_s = profile.limit_s,
        extra_part = overrides and overrides.rounds and 0 or profile.extra_part }
end

-- Fewer rounds than these decide no claim, and show nothing where there is none.
local FEWEST_ROUNDS, FEWEST_WITHOUT_CLAIM = 5, 3
local SHORTEST_SLOT_S = 0.25

--- What a step can afford when <done_s> of the plan's <total_s> took <spent_s> and all should be over after
-- <limit_s>: (rounds, slot_s), as planned while the run keeps up; else shorter slots, and without a
-- claim fewer rounds.
function plan.affordable(step, done_s, total_s, spent_s, limit_s)
    if not limit_s or done_s < 30 then
        return step.rounds, step.slot_s
    end
    local needed_s, left_s = (total_s - done_s) * spent_s / done_s, math.max(0, limit_s - spent_s)
    if needed_s <= left_s then
        return step.rounds, step.slot_s
    end
    local part = left_s / needed_s
    local fewest = math.min(step.rounds, #step.comparison.claims > 0 and FEWEST_ROUNDS or FEWEST_WITHOUT_CLAIM)
    local slot_s = step.slot_s and math.min(step.slot_s, math.max(SHORTEST_SLOT_S, step.slot_s * part))
    return math.max(fewest, math.floor(step.rounds * part)), slot_s
end

--- Seconds that the open claims of step <number> may take beyond its planned rounds, when the run has taken
-- <spent_s> so far: an equal share of what the rest of the plan leaves of the limit, at the pace so far.
function plan.allowance(the_plan, number, spent_s)
    local step = the_plan.steps[number]
    if the_plan.extra_part then
        return the_plan.extra_part * step.seconds
    end
    local done_s, left_s, takers = 0, 0, 0
    for i, each in ipairs(the_plan.steps) do
        done_s = done_s + (i <= number and each.seconds or 0)
        left_s = left_s + (i > number and each.seconds or 0)
        takers = takers + (i >= number and each.kind == "comparison" and #each.comparison.claims > 0 and 1 or 0)
    end
    local pace = math.max(0.5, math.min(2, spent_s / math.max(1, done_s)))
    return math.max(0, the_plan.limit_s - spent_s - left_s * pace) / math.max(1, takers)
end

--- <list> in random order; random(n) gives 1..n. A new list (Fisher and Yates).
function plan.shuffled(list, random)
    local copy = {}
    for i, value in ipairs(list) do
        copy[i] = value
    end
    for i = #copy, 2, -1 do
        local j = random(i)
        copy[i], copy[j] = copy[j], copy[i]
    end
    return copy
end

return plan
