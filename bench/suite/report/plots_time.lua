-- Figures with two continuous axes: latency spectra, resources over time, curves over a count.
-- Pure: results in, SVG text out.

local format = require("bench.suite.report.format")
local plots_rows = require("bench.suite.report.plots")
local svg = require("bench.suite.report.svg")

local plots = {}

local WIDTH = plots_rows.width
local PERCENTILES = { { "p50", 0.5 }, { "p75", 0.75 }, { "p90", 0.9 }, { "p95", 0.95 }, { "p99", 0.99 }, { "p999", 0.999 } }
-- Where the axis has its ticks, and where it ends.
local TICKS, LAST_QUANTILE = { 0, 0.5, 0.9, 0.99, 0.999 }, 0.9995

-- The nines of a quantile: 0.9 -> 1, 0.99 -> 2. Equal steps for equal factors of rarity.
local function nines(quantile)
    return -math.log10(1 - quantile)
end

-- The arm's spectrum: the merged histogram's points, else the percentiles of the summary.
local function spectrum_of(arm)
    local fine = (arm.merged or {}).spectrum
    if fine and #fine > 1 then
        return fine
    end
    local list = {}
    for _, entry in ipairs(PERCENTILES) do
        list[#list + 1] = { quantile = entry[2], us = arm.summary.response_us[entry[1]] }
    end
    return list
end

local function spectrum_lines(arms)
    local lines, low, high = {}, math.huge, 0
    for i, arm in ipairs(arms) do
        local points = {}
        for _, point in ipairs(spectrum_of(arm)) do
            if point.us and point.us > 0 and point.quantile <= LAST_QUANTILE then
                points[#points + 1] = point
                low, high = math.min(low, point.us), math.max(high, point.us)
            end
        end
        if #points > 1 then
            lines[#lines + 1] = { arm = arm, points = points, class = ("s%d"):format((i - 1) % 8 + 1) }
        end
    end
    return lines, low, high
end

local function spectrum_axes(drawing, box, x, y, ticks)
    for _, tick in ipairs(ticks) do
        drawing:line(box.left, y(tick), box.right, y(tick), "grid")
        drawing:text(box.left - 6, y(tick) + 4, format.us(tick), "tick", "end")
    end
    for _, quantile in ipairs(TICKS) do
        local at = x(nines(quantile))
        drawing:line(at, box.top, at, box.bottom, "grid")
        if quantile > 0 then
            drawing:text(at, box.bottom + 15, ("%g %%"):format(quantile * 100), "tick", "middle")
        end
    end
    drawing:text((box.left + box.right) / 2, box.bottom + 34, "share of answers that were at least as quick", "axis-title", "middle")
end

--- Response times by percentile on a logarithmic axis, one line per arm, labelled at its end.
function plots.latency(part)
    local lines, low, high = spectrum_lines(plots_rows.measured(part))
    if #lines == 0 then
        return nil
    end
    local box = { left = 62, right = WIDTH - 172, top = 14, bottom = math.max(260, 20 + #lines * 17) }
    local drawing = svg.new(WIDTH, box.bottom + 44, "Response times by percentile: " .. part.title)
    local ticks = svg.log_ticks(low, high)
    local x = svg.linear(0, nines(LAST_QUANTILE), box.left, box.right)
    local y = svg.log(ticks[1], ticks[#ticks], box.bottom, box.top)
    spectrum_axes(drawing, box, x, y, ticks)
    local labels = {}
    for _, line in ipairs(lines) do
        local points = {}
        for i, point in ipairs(line.points) do
            points[i] = { x(nines(point.quantile)), y(point.us) }
        end
        local class = "line " .. line.class .. (line.arm.variant == "tuned" and not line.arm.reference and " dashed" or "")
        drawing:path(points, class, line.arm.key)
        for i, point in ipairs(line.points) do
            drawing:circle(points[i][1], points[i][2], 2, "point " .. line.class, ("%s, %g %%: %s"):format(line.arm.key,
                point.quantile * 100, format.us(point.us)))
        end
        labels[#labels + 1] = { y = points[#points][2], x = points[#points][1], line = line }
    end
    for _, label in ipairs(svg.spread(labels, 15, box.top + 4, box.bottom)) do
        drawing:line(label.x + 4, label.y, box.right + 8, label.at, "leader " .. label.line.class)
        drawing:text(box.right + 11, label.at + 4, label.line.arm.key, "end-label")
    end
    return drawing:render()
end

-- First and last moment of all slots, in seconds since 1970.
local function span_of(arms)
    local first, last = math.huge, 0
    for _, arm in ipairs(arms) do
        for _, slot in ipairs(arm.slots) do
            if slot.elapsed_s then
                first, last = math.min(first, slot.started_s), math.max(last, slot.started_s + slot.elapsed_s)
            end
        end
    end
    return first, last
end

-- Sum of the groups' processors of one point of a series, stacked in the order of <names>.
local function stacked(point, names, upto)
    local sum = 0
    for i = 1, upto do
        sum = sum + (point.cpu[names[i]] or 0)
    end
    return sum
end

local function group_names(arm)
    local names, classes = {}, {}
    for i, entry in ipairs(plots_rows.groups(arm)) do
        names[i], classes[i] = entry.name, entry.class
    end
    return names, classes
end

-- One slot in its lane: the asked load as a frame, processor use as stacked areas inside.
local function draw_slot(drawing, slot, names, classes, x, lane, cpus)
    local from, to = slot.started_s, slot.started_s + slot.elapsed_s
    drawing:rect(x(from), lane.top, math.max(1, x(to) - x(from)), lane.height, slot.twin and "slot twin" or "slot",
        ("round %d%s: %s"):format(slot.round or 0, slot.twin and " (A/A twin)" or "", format.rate(slot.ok_per_s)))
    local y = svg.linear(0, cpus, lane.top + lane.height, lane.top)
    local points = (slot.resources or {}).series or {}
    for upto = #names, 1, -1 do
        local outline = {}
        for _, point in ipairs(points) do
            local begin, finish = math.max(from, from + point.from_s), math.min(to, from + point.at_s)
            if finish > begin then
                local value = y(math.min(cpus, stacked(point, names, upto)))
                outline[#outline + 1] = { x(begin), value }
                outline[#outline + 1] = { x(finish), value }
            end
        end
        drawing:area(outline, lane.top + lane.height, "bar " .. classes[upto])
    end
end

--- Resources over time, aligned with the load: one lane per arm, one frame per slot, inside it the
-- processors that its process groups kept busy. The order of the frames is the order of the run.
function plots.timeline(part, cpus)
    local arms = plots_rows.measured(part)
    local first, last = span_of(arms)
    if #arms == 0 or last <= first then
        return nil
    end
    local row, top = 46, 10
    local box = { left = 8, right = WIDTH - 12, bottom = top + #arms * row }
    local drawing = svg.new(WIDTH, box.bottom + 42, "Processors in use over time: " .. part.title)
    local ticks = svg.ticks(last - first, 6)
    local x_of = svg.linear(0, ticks[#ticks], box.left, box.right)
    for _, tick in ipairs(ticks) do
        drawing:line(x_of(tick), top, x_of(tick), box.bottom, "grid")
        drawing:text(x_of(tick), box.bottom + 15, ("%g s"):format(tick),
            "tick", tick == 0 and "start" or tick == ticks[#ticks] and "end" or "middle")
    end
    local function x(time_s)
        return x_of(time_s - first)
    end
    for i, arm in ipairs(arms) do
        local lane = { top = top + (i - 1) * row + 18, height = 24 }
        drawing:text(box.left, lane.top - 5, arm.key, "label")
        drawing:text(box.right, lane.top - 5, table.concat(group_names(arm), " + "), "value", "end")
        local names, classes = group_names(arm)
        for _, slot in ipairs(arm.slots) do
            if slot.elapsed_s then
                draw_slot(drawing, slot, names, classes, x, lane, cpus)
            end
        end
    end
    drawing:text(WIDTH / 2, box.bottom + 34, ("time; lane height = %d processors; one frame = one slot"):format(cpus), "axis-title",
        "middle")
    return drawing:render()
end

--- A curve over a count, for tuning: options = {label, x_title, y_title, points = list of {x, y,
-- low, high, hint}, fit = list of {x, y} or nil, bound = list of {x, y} or nil, mark = x of the
-- recommendation or nil, log_y, y_text = function(value)}. The x axis is logarithmic.
function plots.curve(options)
    local points = options.points
    if #points == 0 then
        return nil
    end
    local box = { left = 62, right = WIDTH - 16, top = 22, bottom = 270 }
    local drawing = svg.new(WIDTH, box.bottom + 46, options.label)
    local low, high, first, last = math.huge, 0, math.huge, 0
    for _, point in ipairs(points) do
        low, high = math.min(low, point.low or point.y), math.max(high, point.high or point.y)
        first, last = math.min(first, point.x), math.max(last, point.x)
    end
    local ticks = options.log_y and svg.log_ticks(math.max(low, 1e-9), high) or svg.ticks(high)
    local x = svg.log(first / 1.1, last * 1.1, box.left, box.right)
    local y = options.log_y and svg.log(ticks[1], ticks[#ticks], box.bottom, box.top)
        or svg.linear(0, ticks[#ticks], box.bottom, box.top)
    for _, tick in ipairs(ticks) do
        drawing:line(box.left, y(tick), box.right, y(tick), "grid")
        drawing:text(box.left - 6, y(tick) + 4, (options.y_text or format.number)(tick), "tick", "end")
    end
    local labelled
    for _, point in ipairs(points) do
        if not labelled or x(point.x) - labelled > 26 then
            drawing:text(x(point.x), box.bottom + 15, ("%g"):format(point.x), "tick", "middle")
            labelled = x(point.x)
        end
    end
    if options.mark then
        drawing:line(x(options.mark), box.top, x(options.mark), box.bottom, "mark")
        drawing:text(x(options.mark), box.top - 6, ("recommended: %g"):format(options.mark), "label",
            x(options.mark) > WIDTH * 0.7 and "end" or x(options.mark) < WIDTH * 0.3 and "start" or "middle")
    end
    for _, extra in ipairs({ { "bound", "line bound" }, { "fit", "line fit" } }) do
        local path = {}
        for _, point in ipairs(options[extra[1]] or {}) do
            if point.y <= ticks[#ticks] * 1.02 then
                path[#path + 1] = { x(point.x), y(point.y) }
            end
        end
        drawing:path(path, extra[2], extra[1])
    end
    local joined = {}
    for i, point in ipairs(points) do
        joined[i] = { x(point.x), y(point.y) }
    end
    drawing:path(joined, "line s1 faint")
    for _, point in ipairs(points) do
        if point.low then
            drawing:line(x(point.x), y(point.low), x(point.x), y(point.high), "whisker")
        end
        drawing:circle(x(point.x), y(point.y), 4, "point s1", point.hint)
    end
    drawing:text((box.left + box.right) / 2, box.bottom + 36, options.x_title, "axis-title", "middle")
    drawing:text(8, 12, options.y_title, "axis-title", "start")
    return drawing:render()
end

return plots
