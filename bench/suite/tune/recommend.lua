-- SPDX-License-Identifier: MIT
--
-- From the rows of a sweep to a child count and its reasons. Pure.
--
-- A row: {children, rates (requests/s answered rightly, one per round; nil for a round that is
-- missing), rate = statistics.interval of them, p99_us (median of the rounds), verdict ("ok" or why
-- the row may not be used), flaw ("client" | "failures" | "count" | nil), pss_kib (the pool's),
-- cpu = {group = processors kept busy}, achieved (open loop: rate / asked rate)}.

local statistics = require("bench.suite.analysis.statistics")
local usl = require("bench.suite.analysis.usl")

local recommend = {}

-- The smallest count within this part of the best rate is taken.
local ENOUGH = 0.95
-- A row of an open loop keeps up when it reaches this part of the asked rate (as zrk's rate_ratio).
local KEEPS_UP = 0.98
-- Part of a host's best rate that is planned with: above it waiting times grow without bound.
local PLANNED_SHARE = 0.7
-- Equals that differ by more than this were measured on a machine that does something else, too.
local NOISE_ORDINARY = 0.15
-- Processors count as used up above this part; a single-threaded front above this part of one.
local CPU_FULL, FRONT_FULL = 0.88, 0.9

local function ascending(rows)
    local list = {}
    for i, row in ipairs(rows) do
        list[i] = row
    end
    table.sort(list, function(a, b)
        return a.children < b.children
    end)
    return list
end

-- Rates of two rows as pairs of the same round, and all of each.
local function pair(a, b)
    local left, right, all_left, all_right = {}, {}, {}, {}
    for round = 1, math.max(a.rounds, b.rounds) do
        local x, y = a.rates[round], b.rates[round]
        all_left[#all_left + 1], all_right[#all_right + 1] = x, y
        if x and y then
            left[#left + 1], right[#right + 1] = x, y
        end
    end
    return left, right, all_left, all_right
end

--- How row <b> compares with row <a>: statistics.ratio by the rounds they share, and where they
-- share fewer than two statistics.ratio_unpaired; nil when one has no rate.
function recommend.compare(a, b)
    local left, right, all_left, all_right = pair(a, b)
    if #left >= 2 then
        return statistics.ratio(left, right)
    end
    return statistics.ratio_unpaired(all_left, all_right)
end

local function points_of(rows)
    local points = {}
    for _, row in ipairs(rows) do
        if row.rate and row.rate.mean > 0 then
            points[#points + 1] = { n = row.children, x = row.rate.mean }
        end
    end
    return points
end

--- Fits of both laws to the usable rows: {usl, bound, better, usl_reason}.
function recommend.fit(rows)
    local points = points_of(rows)
    local law, reason = usl.fit(points, math.min(6, math.max(4, #points)))
    local bound = usl.fit_bound(points)
    return { usl = law, usl_reason = reason, bound = bound, better = usl.better(law, bound) }
end

-- Memory that the pool takes at a count: a straight line through the smallest and largest row.
local function memory_line(rows)
    local first, last
    for _, row in ipairs(rows) do
        if row.pss_kib then
            first, last = first or row, row
        end
    end
    if not first then
        return nil
    elseif first == last then
        return { base_kib = 0, per_child_kib = first.pss_kib / first.children }
    end
    local slope = math.max(0, (last.pss_kib - first.pss_kib) / (last.children - first.children))
    return { base_kib = math.max(0, first.pss_kib - slope * first.children), per_child_kib = slope }
end

--- Memory of the pool: {base_kib, per_child_kib, cap (the largest count within <budget_kib>; nil
-- without a budget)}; nil when no row has a PSS.
function recommend.memory(rows, budget_kib)
    local line = memory_line(ascending(rows))
    if line and budget_kib and line.per_child_kib > 0 then
        line.cap = math.max(0, math.floor((budget_kib - line.base_kib) / line.per_child_kib))
    end
    return line
end

-- Does <row> do as well as asked: near the best rate (closed loop) or keeping up (open loop)?
local function fast_enough(row, best, goals)
    if goals.rate_per_s then
        return row.rate.mean >= KEEPS_UP * goals.rate_per_s
    end
    local ratio = row == best and { ratio = 1 } or recommend.compare(best, row)
    return ratio ~= nil and ratio.ratio >= ENOUGH
end

local function within(row, goals, memory)
    local in_time = not goals.p99_us or (row.p99_us and row.p99_us <= goals.p99_us)
    local in_memory = not (memory and memory.cap) or row.children <= memory.cap
    return in_time, in_memory
end

--- Counts worth a measurement after a first sweep: between the largest count that is too small and
-- the smallest that is enough, until the two are within 5 % (or neighbours). The two-resource bound
-- says where to look first; without a good fit the middle is taken. Returns a list, empty when done.
function recommend.refine(rows, goals)
    local usable = recommend.usable(rows)
    local best = recommend.best(usable)
    local below, above
    for _, row in ipairs(ascending(usable)) do
        local ok = fast_enough(row, best, goals) and (within(row, goals))
        if ok then
            above = row.children
            break
        end
        below = row.children
    end
    if not above or not below or above - below <= 1 or below >= ENOUGH * above then
        return {}
    end
    local bound = usl.fit_bound(points_of(usable))
    local guess
    if bound and bound.r2 and bound.r2 > 0.98 and bound.plateau_per_s < math.huge then
        guess = math.ceil(ENOUGH * bound.knee - 1e-9)
    end
    local list = {}
    -- Just enough, and one that should be just too small: together they close the gap.
    for _, count in ipairs(guess and { guess, math.ceil(guess * ENOUGH) } or {}) do
        if count > below and count < above then
            list[#list + 1] = count
        end
    end
    if #list == 0 then
        list[1] = math.floor((below + above) / 2 + 0.5)
    end
    return list
end

--- Rows without a flaw, ascending.
function recommend.usable(rows)
    local list = {}
    for _, row in ipairs(ascending(rows)) do
        if not row.flaw and row.rate then
            list[#list + 1] = row
        end
    end
    return list
end

--- The row with the highest rate; nil for no rows.
function recommend.best(rows)
    local best
    for _, row in ipairs(rows) do
        if not best or row.rate.mean > best.rate.mean then
            best = row
        end
    end
    return best
end

-- What holds the rate at the top of the sweep, each with the figures that say so.
local function binding_of(best, largest, need, goals)
    if goals.rate_per_s and best.rate.mean >= KEEPS_UP * goals.rate_per_s then
        return "rate", ("the asked rate of %.0f/s is kept up"):format(goals.rate_per_s)
    end
    local bound = need and usl.bound(need, best.children)
    if bound and bound.binding == "clients" and best.rate.mean >= 0.85 * bound.per_s then
        return "clients", ("%d clients with one request each, %.3g s per request, cannot have more than %.4g/s"):format(
            need.clients, need.cpu_s + need.wait_s + (need.shared_cpu_s or 0), bound.per_s)
    end
    local total, parts = 0, {}
    for name, busy in pairs(best.cpu or {}) do
        total, parts[#parts + 1] = total + busy, ("%s %.2f"):format(name, busy)
    end
    table.sort(parts)
    local cores = need and need.cores
    if cores and need.quota and total - (best.cpu.other or 0) >= CPU_FULL * cores then
        return "quota", ("%.2f processors are used, of %s (%s)"):format(total, need.quota, table.concat(parts, ", "))
    elseif cores and total >= CPU_FULL * cores then
        return "cpu", ("%.2f of %.4g processors are busy (%s)"):format(total, cores, table.concat(parts, ", "))
    elseif best.cpu and (best.cpu.front or 0) >= FRONT_FULL * (need and need.front_workers or 1) then
        return "front", ("the web server in front is at its limit (%.2f processors)"):format(best.cpu.front)
    elseif best == largest then
        return "children", "the rate still rises at the largest count that was measured; measure larger ones (--counts)"
    elseif cores then
        return "unknown", ("%.2f of %.4g processors are busy (%s): something that is waited for is the limit"):format(
            total, cores, table.concat(parts, ", "))
    end
    return "unknown", "the processors were not seen"
end

-- "high", "medium" or "low", and why. Seen from the next smaller measured count: is it shown slower?
local function confidence_of(chosen, smaller, best, noise)
    local half = chosen.rate.half and chosen.rate.half / chosen.rate.mean
    if not half then
        return "low", "one round only"
    end
    local step = smaller and recommend.compare(smaller, chosen)
    local clear = not smaller or (step and step.low and step.low > 1 and step.ratio - 1 > noise)
    local text = ("interval +-%.1f %% over %d rounds, noise %.1f %%"):format(half * 100, chosen.rate.n, noise * 100)
    if half <= 0.05 and noise <= 0.05 and clear and best.rate.n >= 3 then
        return "high", text
    elseif half <= 0.15 and noise <= 0.15 then
        return "medium", text .. (clear and "" or "; the next smaller count is not shown to be slower")
    end
    return "low", text
end

local function refuse(result, why, remedy)
    result.refused, result.remedy = why, remedy
    return result
end

-- Every usable row misses a goal: say which one, and what came nearest.
local function exhausted(result, usable, goals, memory)
    local best = result.best
    if memory and memory.cap and usable[1].children > memory.cap then
        return refuse(result, ("CAPACITY EXHAUSTED: even %d children need more than the memory allowed"):format(
            usable[1].children), "more memory, or smaller children")
    elseif goals.rate_per_s and best.rate.mean < KEEPS_UP * goals.rate_per_s then
        return refuse(result, ("CAPACITY EXHAUSTED: the best count, %d, reaches %.4g/s of %.4g/s"):format(best.children,
            best.rate.mean, goals.rate_per_s), "another host, or less work per request")
    end
    local quickest = usable[1]
    for _, row in ipairs(usable) do
        quickest = (row.p99_us or math.huge) < (quickest.p99_us or math.huge) and row or quickest
    end
    local text = ("CAPACITY EXHAUSTED: no count meets p99 <= %.4g ms; %d children come nearest with %.4g ms"):format(
        goals.p99_us / 1000, quickest.children, (quickest.p99_us or 0) / 1000)
    return refuse(result, text, "fewer clients (or a lower rate), another host, or less work per request")
end

-- Flawed rows decide nothing; when too few are left the sweep says so.
local function check_rows(result, rows, usable)
    local by_client = 0
    for _, row in ipairs(rows) do
        by_client = by_client + (row.flaw == "client" and 1 or 0)
    end
    if by_client > 0 and by_client >= #rows - #usable and by_client * 2 >= #rows then
        return refuse(result, ("the load client was the limit in %d of %d rows: they describe the client"):format(
            by_client, #rows), "more client threads, another machine for the client, or a slower page")
    elseif #usable < 2 then
        return refuse(result, ("only %d of %d rows can be used"):format(#usable, #rows), "see the verdict of each row")
    end
end

-- What the rate of <row> could gain if it used the processors, and the web server in front its own, to
-- the full: a fraction that noise does not touch, for all of it was seen in the same runs. nil when the
-- processors were not seen.
local function headroom_of(row, need)
    local ours, cpu = 0, row.cpu or {}
    for name, busy in pairs(cpu) do
        ours = ours + (name ~= "other" and busy or 0)
    end
    if not need or not need.cores or ours <= 0 then
        return nil
    end
    -- A quota is ours alone; processors are shared with others.
    local most = (need.cores - (need.quota and 0 or cpu.other or 0)) / ours
    if (cpu.front or 0) > 0 then
        most = math.min(most, (need.front_workers or 1) / cpu.front)
    end
    return math.max(0, most - 1)
end

-- Nothing is gained by more children, or too little to be seen through the noise: then the smallest
-- count is as good as any, unless the noise could hide a gain worth having.
local function no_gain(result, smallest, need)
    local text = ("no count is shown to be better than another: the best gains %.1f %% over %d, the noise is %.1f %%")
        :format(result.gain * 100, smallest.children, result.noise * 100)
    local headroom = result.noise > NOISE_ORDINARY and headroom_of(smallest, need)
    if result.noise > NOISE_ORDINARY and not (headroom and headroom <= NOISE_ORDINARY) then
        return refuse(result, text, "a quiet machine (bench/bench doctor), more rounds (--repeats), longer ones (-d)")
    end
    result.children, result.row, result.alike = smallest.children, smallest, true
    result.confidence = headroom and "low" or "medium"
    result.confidence_why = text
        .. (headroom and ("; but what the processors do with %d leaves only %.1f %% to gain"):format(smallest.children, headroom * 100) or "")
        .. "; take more than 1 where a slow request must not hold up the rest"
    return result
end

--- The recommendation. <rows>: all rows of the sweep; <goals>: {p99_us, rate_per_s (open loop),
-- memory_kib (budget of the pool)}, each optional; <need>: what one request needs, as usl.bound
-- takes it, plus front_workers; nil when unknown; <noise>: noise floor as a fraction.
-- Returns {children, row, best, binding, why, confidence, confidence_why, gain, noise, fit, memory,
-- capped_by ("memory" when the cap decided), at_least (true when the rate still rises at the largest
-- measured count, which then is the one given), alike (true when no count is shown to be better)}; or the same with refused (text) and remedy instead of
-- children.
function recommend.choose(rows, goals, need, noise)
    local usable = recommend.usable(rows)
    local result = { noise = noise, fit = recommend.fit(usable), memory = recommend.memory(usable, goals.memory_kib) }
    if check_rows(result, rows, usable) then
        return result
    end
    local best, largest = recommend.best(usable), usable[#usable]
    result.best = best
    result.binding, result.why = binding_of(best, largest, need, goals)
    local against_first = best ~= usable[1] and recommend.compare(usable[1], best)
    result.gain = against_first and against_first.ratio - 1 or 0
    local smaller, chosen
    for _, row in ipairs(usable) do
        local in_time, in_memory = within(row, goals, result.memory)
        if not in_memory then
            break
        elseif fast_enough(row, best, goals) and in_time then
            chosen = row
            break
        end
        smaller = row
    end
    if not chosen and smaller and result.memory and result.memory.cap and result.memory.cap < largest.children
        and not goals.rate_per_s and (within(smaller, goals)) then
        chosen, result.capped_by, result.binding = smaller, "memory", "memory"
        result.why = ("%.0f MiB hold %d children of %.1f MiB; more would answer more"):format(goals.memory_kib / 1024,
            result.memory.cap, result.memory.per_child_kib / 1024)
    elseif not chosen then
        return exhausted(result, usable, goals, result.memory)
    end
    if not goals.rate_per_s and not goals.p99_us and not result.capped_by and result.gain <= noise then
        return no_gain(result, usable[1], need)
    end
    result.children, result.row = chosen.children, chosen
    result.confidence, result.confidence_why = confidence_of(chosen, smaller, best, noise)
    if chosen == largest and result.binding == "children" then
        result.at_least = true
        result.confidence, result.confidence_why = "low", "the largest measured count won: the best may lie beyond it"
    end
    return result
end

--- The recommended count of <choice> in words: "8 children", or "at least 8 children".
function recommend.count_text(choice)
    return ("%s%d %s%s"):format(choice.at_least and "at least " or "", choice.children, choice.children == 1 and "child" or "children",
        choice.alike and ", and any count above serves alike" or "")
end

-- The next power of two, at least <least>.
local function power_of_two(value, least)
    local power = least
    while power < value do
        power = power * 2
    end
    return power
end

--- A backlog that holds every client that can wait, twice: a power of two from 128 up, at most
-- <somaxconn> (nil: no limit known).
function recommend.backlog(clients, somaxconn)
    return math.min(power_of_two(2 * clients, 128), somaxconn or math.huge)
end

--- Kept connections for each nginx worker: none may hold a child that others need. For a pool that
-- blocks on a kept connection workers x keepalive stays below the children; 0 = no keepalive.
function recommend.keepalive(children, front_workers, blocks_on_kept)
    if blocks_on_kept then
        return math.max(0, math.floor((children - math.max(1, math.floor(children / 8))) / front_workers))
    end
    return math.min(64, math.max(8, children))
end

--- On paper: what 1, 10, 100 and 1,000 times <load_per_s> need. <host>: {best_per_s, children,
-- memory_kib (pool), response_s (at the planned load)}. A list of {times, per_s, hosts, children,
-- memory_kib, connections}. See recommend.assumptions.
function recommend.capacity(load_per_s, host)
    local list = {}
    for i, times in ipairs({ 1, 10, 100, 1000 }) do
        local per_s = load_per_s * times
        local hosts = math.max(1, math.ceil(per_s / (PLANNED_SHARE * host.best_per_s) - 1e-9))
        list[i] = {
            times = times,
            per_s = per_s,
            hosts = hosts,
            children = hosts * host.children,
            memory_kib = host.memory_kib and hosts * host.memory_kib,
            connections = math.ceil(per_s * host.response_s),
        }
    end
    return list
end

--- What the capacity table takes for granted.
recommend.assumptions = {
    "hosts like this one, each planned with 70 % of the best rate measured here",
    "requests do not share anything behind the pool (a database would be the next limit)",
    "the load spreads evenly; a balancer in front is not counted",
    "connections = rate x response time (Little); memory = the pool's PSS, without web server and system",
    "client and web server ran on the measured host: with the client elsewhere a host does more",
}

return recommend
