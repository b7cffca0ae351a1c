-- Figures made of rows: rates, processor time, claims, programs. Pure: results in, SVG text out.
--
-- Each row has its name above the bar, so that a figure reads the same on a phone. All share one
-- width; classes (bar, whisker, s1..s8, grid, tick, ...) are styled in report.css.

local format = require("bench.suite.report.format")
local svg = require("bench.suite.report.svg")

local plots = {}

local WIDTH, LEFT, RIGHT = 520, 8, 12
local ROW, BAR, TOP, AXIS = 40, 14, 10, 44

plots.width = WIDTH

-- Class of a bar: what the arm is to the comparison.
function plots.role(arm)
    if arm.reference then
        return "reference"
    elseif arm.url then
        return "found"
    end
    return arm.variant == "tuned" and "tuned" or "documented"
end
local role = plots.role

local function axis(drawing, ticks, scale, base, text, title)
    for _, tick in ipairs(ticks) do
        drawing:line(scale(tick), TOP, scale(tick), base, "grid")
        local anchor = tick == ticks[1] and "start" or tick == ticks[#ticks] and "end" or "middle"
        drawing:text(scale(tick), base + 15, text(tick), "tick", anchor)
    end
    drawing:text(WIDTH / 2, base + 34, title, "axis-title", "middle")
end

local function short(value)
    if value >= 1e6 then
        return ("%gM"):format(value / 1e6)
    elseif value >= 1000 then
        return ("%gk"):format(value / 1000)
    end
    return ("%g"):format(value)
end

--- The arms of <part> that have figures.
function plots.measured(part)
    local list = {}
    for _, arm in ipairs(part.arms) do
        if arm.summary then
            list[#list + 1] = arm
        end
    end
    return list
end

--- Rates of a comparison's arms with their intervals; a mark where arithmetic puts the bound.
function plots.rates(part)
    local arms = plots.measured(part)
    if #arms == 0 then
        return nil
    end
    local high = 0
    for _, arm in ipairs(arms) do
        local rate = arm.summary.ok_per_s
        -- A wide interval of a smoke test must not flatten the bars.
        high = math.max(high, rate.median, math.min(rate.high or 0, rate.median * 1.5))
    end
    local base = TOP + #arms * ROW
    local drawing = svg.new(WIDTH, base + AXIS, "Rates of correct answers per second: " .. part.title)
    local ticks = svg.ticks(high)
    local scale = svg.linear(0, ticks[#ticks], LEFT, WIDTH - RIGHT)
    axis(drawing, ticks, scale, base, short, "correct answers per second (median, 95 % interval)")
    for i, arm in ipairs(arms) do
        local rate, y = arm.summary.ok_per_s, TOP + (i - 1) * ROW
        local hint = ("%s: %s, 95 %% interval %s to %s"):format(arm.key, format.rate(rate.median), format.number(rate.low),
            format.number(rate.high))
        drawing:text(LEFT, y + 14, arm.key, "label")
        drawing:text(WIDTH - RIGHT, y + 14, ("%s %s"):format(format.rate(rate.median), format.spread(rate)), "value", "end")
        drawing:rect(LEFT, y + 19, scale(rate.median) - LEFT, BAR, "bar " .. role(arm), hint, 3)
        local bound = (arm.predicted or {}).rate_per_s
        if bound and bound <= ticks[#ticks] then
            drawing:line(scale(bound), y + 17, scale(bound), y + 35, "bound", ("arithmetic bound %s, set by %s"):format(
                format.rate(bound), arm.predicted.binding))
        end
        if rate.low then
            local from, to = scale(math.max(0, rate.low)), math.min(WIDTH - RIGHT, scale(rate.high))
            drawing:line(from, y + 26, to, y + 26, "whisker", hint)
            drawing:line(from, y + 22, from, y + 30, "whisker")
            drawing:line(to, y + 22, to, y + 30, "whisker")
        end
    end
    return drawing:render()
end

--- The process groups of an arm, the front first: {name, class ("front", "application", "behind"), us
-- (processor time per answer)}.
function plots.groups(arm)
    local list, number, fronts = {}, 0, {}
    for _, name in ipairs(arm.fronts or { "nginx", "apache", "lighttpd" }) do -- results of before name none
        fronts[name] = true
    end
    for name, group in pairs(arm.summary.groups) do
        list[#list + 1] = { name = name, us = group.cpu_us_per_request or 0, front = fronts[name] or false }
    end
    table.sort(list, function(a, b)
        if a.front ~= b.front then
            return a.front
        end
        return a.name < b.name
    end)
    for _, entry in ipairs(list) do
        number = number + (entry.front and 0 or 1)
        entry.class = entry.front and "front" or number == 1 and "application" or "behind"
    end
    return list
end

local function cpu_parts(arm)
    local list = plots.groups(arm)
    list[#list + 1] = { name = "load client", us = arm.summary.client_cpu_us_per_request or 0, class = "client" }
    return list
end

--- Processor time per correct answer, by process group, the load client's beside it.
function plots.cpu(part)
    local arms, rows, high = plots.measured(part), {}, 0
    for _, arm in ipairs(arms) do
        if arm.summary.server_cpu_us_per_request then
            local row = { arm = arm, parts = cpu_parts(arm), total = 0 }
            for _, piece in ipairs(row.parts) do
                row.total = row.total + piece.us
            end
            high = math.max(high, row.total)
            rows[#rows + 1] = row
        end
    end
    if #rows == 0 then
        return nil
    end
    local base = TOP + #rows * ROW
    local drawing = svg.new(WIDTH, base + AXIS, "Processor time per request: " .. part.title)
    local ticks = svg.ticks(high)
    local scale = svg.linear(0, ticks[#ticks], LEFT, WIDTH - RIGHT)
    axis(drawing, ticks, scale, base, short, "processor time per correct answer, \194\181s")
    for i, row in ipairs(rows) do
        local y, sum = TOP + (i - 1) * ROW, 0
        drawing:text(LEFT, y + 14, row.arm.key, "label")
        drawing:text(WIDTH - RIGHT, y + 14, format.us(row.arm.summary.server_cpu_us_per_request) .. " server", "value", "end")
        for _, piece in ipairs(row.parts) do
            local from, to = scale(sum), scale(sum + piece.us)
            drawing:rect(from, y + 19, to - from - 1, BAR, "bar " .. piece.class, ("%s, %s: %s"):format(row.arm.key, piece.name,
                format.us(piece.us)))
            sum = sum + piece.us
        end
    end
    return drawing:render()
end

local function diamond(drawing, x, y, size, class, hint)
    drawing:shape({ { x - size, y }, { x, y - size }, { x + size, y }, { x, y + size } }, class, hint)
end

local function claim_range(claims)
    local low, high = 0.5, 2
    for _, claim in ipairs(claims) do
        for _, value in ipairs({ claim.published_ratio or 1, (claim.pair or {}).ratio or 1 }) do
            low, high = math.min(low, value / 1.2), math.max(high, value * 1.2)
        end
    end
    return low, high
end

local SHORT = { artefact = "artefact", reproduced = "reproduced", reversed = "reversed", same = "equal within 10 %",
    equal = "no difference shown", few = "no verdict", failed = "not decided", open = "not measured" }

-- The two shapes of the figure of all claims: one line for each claim on a wide page, three on a narrow one.
local SHAPES = {
    wide = { width = 1072, row = 27, left = 390, right = 160, lane = 17, name = { x = 8, y = 21 }, verdict = { y = 21 },
        context = { x = 374, y = 21, anchor = "end", short = true } },
    narrow = { width = WIDTH, row = 64, left = 14, right = 18, lane = 48, name = { x = 8, y = 32 }, context = { x = 8, y = 14 },
        verdict = { y = 32 } },
}

local function claim_row(drawing, entry, y, scale, shape)
    local claim, pair = entry.claim, entry.claim.pair or {}
    local name = ("%s > %s"):format(claim.faster, claim.slower)
    if shape.context then
        drawing:text(shape.context.x, y + shape.context.y, shape.context.short and (entry.part or {}).name or entry.context or "",
            "context halo", shape.context.anchor)
    end
    drawing:text(shape.name.x, y + shape.name.y, name, "label halo")
    drawing:text(shape.width - 8, y + shape.verdict.y, claim.judgement == "reproduced" and claim.judgement_text or SHORT[claim.judgement],
        "value halo judged-" .. claim.judgement, "end")
    local middle = y + shape.lane
    drawing:line(shape.left, middle, shape.width - shape.right, middle, "lane")
    local said = ("%s: %s. %s"):format(entry.context or "", name, claim.judgement_text)
    if pair.ratio then
        local hint = ("%s; measured %s, 95 %% interval %s"):format(said, format.ratio(pair.ratio), format.interval(pair.low, pair.high))
        if pair.low then
            drawing:line(scale(pair.low), middle, scale(pair.high), middle, "interval today-" .. claim.today, hint)
        end
        drawing:circle(scale(pair.ratio), middle, 5.5, "dot today-" .. claim.today, hint)
    end
    if claim.published_ratio then
        diamond(drawing, scale(claim.published_ratio), middle, 6, claim.judgement == "artefact" and "then artefact" or "then",
            ("%s; published %s"):format(said, format.ratio(claim.published_ratio)))
    end
end

--- All judged claims on one logarithmic axis: the published ratio (diamond) and the measured one
-- (dot with its interval). Right of 1 the claimed winner leads. <entries>: list of {claim, context};
-- <name>: "wide" or "narrow".
function plots.claims(entries, name)
    if #entries == 0 then
        return nil
    end
    local claims, shape = {}, SHAPES[name]
    for i, entry in ipairs(entries) do
        claims[i] = entry.claim
    end
    local base = TOP + #entries * shape.row
    local drawing = svg.new(shape.width, base + AXIS - 4, "Verdicts on all claims")
    local low, high = claim_range(claims)
    local scale = svg.log(low, high, shape.left + 6, shape.width - shape.right - 6)
    local margin = 1.1
    drawing:rect(scale(1 / margin), TOP, scale(margin) - scale(1 / margin), base - TOP, "equal-zone", "equal within 10 %")
    for _, tick in ipairs({ 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100 }) do
        if tick >= low and tick <= high then
            drawing:line(scale(tick), TOP, scale(tick), base, tick == 1 and "unity" or "grid")
            drawing:text(scale(tick), base + 15, ("%g\195\151"):format(tick), "tick", "middle")
        end
    end
    drawing:text((shape.left + shape.width - shape.right) / 2, base + 33, "rate of the claimed winner / rate of the other (logarithmic)",
        "axis-title", "middle")
    for i, entry in ipairs(entries) do
        claim_row(drawing, entry, TOP + (i - 1) * shape.row, scale, shape)
    end
    return drawing:render()
end

--- Interpreters as whole processes: measured time (bar with interval) and published (diamond).
function plots.programs(part)
    local high, rows = 0, {}
    for _, cell in ipairs(part.cells) do
        if cell.real_s then
            rows[#rows + 1] = cell
            high = math.max(high, cell.real_s.median, cell.published and cell.published.real_s or 0)
        end
    end
    if #rows == 0 then
        return nil
    end
    local base = TOP + #rows * ROW
    local drawing = svg.new(WIDTH, base + AXIS, part.title)
    local ticks = svg.ticks(high)
    local scale = svg.linear(0, ticks[#ticks], LEFT, WIDTH - RIGHT)
    axis(drawing, ticks, scale, base, function(value)
        return ("%g s"):format(value)
    end, "time of the whole process; diamond: published")
    local classes = { php = "s1", node = "s2", luajit = "s8" }
    for i, cell in ipairs(rows) do
        local y = TOP + (i - 1) * ROW
        drawing:text(LEFT, y + 14, ("%s, %s"):format(cell.program, cell.title), "label")
        drawing:text(WIDTH - RIGHT, y + 14, ("%.3f s%s"):format(cell.real_s.median,
            cell.published and (" (then %.3f s)"):format(cell.published.real_s) or ""), "value", "end")
        drawing:rect(LEFT, y + 19, scale(cell.real_s.median) - LEFT, BAR, "bar " .. (classes[cell.interpreter] or "s5"), nil, 3)
        if cell.published then
            diamond(drawing, scale(cell.published.real_s), y + 26, 6, "then", "published")
        end
    end
    return drawing:render()
end

return plots
