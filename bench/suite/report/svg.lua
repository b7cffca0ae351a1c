-- Drawing with SVG: elements with escaped text, scales and round ticks. Pure; colours and fonts
-- come from the page's style sheet through class names, so that one drawing serves light and dark.

local svg = {}
svg.__index = svg

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

--- <text> made safe for text and attribute values of HTML and SVG.
function svg.escape(text)
    return (tostring(text):gsub('[&<>"]', ENTITIES))
end

local function coordinate(value)
    return (("%.2f"):format(value):gsub("%.?0+$", ""))
end

local function attributes(list)
    local parts, names = {}, {}
    for name in pairs(list or {}) do
        names[#names + 1] = name
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local value = list[name]
        parts[#parts + 1] = (' %s="%s"'):format(name, type(value) == "number" and coordinate(value) or svg.escape(value))
    end
    return table.concat(parts)
end

--- A drawing of width x height units; <label> tells what it shows to those who cannot see it.
function svg.new(width, height, label)
    return setmetatable({ width = width, height = height, label = label, parts = {} }, svg)
end

--- Appends <name> with <attrs>; <content> is text that is escaped; <hint> is shown on hovering.
function svg:element(name, attrs, content, hint)
    local inside = (hint and "<title>" .. svg.escape(hint) .. "</title>" or "") .. (content and svg.escape(content) or "")
    self.parts[#self.parts + 1] = inside == "" and ("<%s%s/>"):format(name, attributes(attrs))
        or ("<%s%s>%s</%s>"):format(name, attributes(attrs), inside, name)
end

function svg:line(x1, y1, x2, y2, class, hint)
    self:element("line", { x1 = x1, y1 = y1, x2 = x2, y2 = y2, class = class }, nil, hint)
end

--- A rectangle; corners of <radius> (default 0). Widths below 0 are drawn as 0.
function svg:rect(x, y, width, height, class, hint, radius)
    self:element("rect", { x = x, y = y, width = math.max(0, width), height = math.max(0, height), class = class,
        rx = radius and math.min(radius, width / 2) or nil }, nil, hint)
end

--- Text at x, y (base line); anchor "start", "middle" or "end".
function svg:text(x, y, content, class, anchor)
    self:element("text", { x = x, y = y, class = class, ["text-anchor"] = anchor ~= "start" and anchor or nil }, content)
end

function svg:circle(x, y, radius, class, hint)
    self:element("circle", { cx = x, cy = y, r = radius, class = class }, nil, hint)
end

local function path_data(points)
    local data = {}
    for i, point in ipairs(points) do
        data[i] = (i == 1 and "M" or "L") .. coordinate(point[1]) .. " " .. coordinate(point[2])
    end
    return table.concat(data)
end

--- A line through <points> (list of {x, y}).
function svg:path(points, class, hint)
    if #points > 0 then
        self:element("path", { d = path_data(points), class = class, fill = "none" }, nil, hint)
    end
end

--- The area under <points>, down to <base>.
function svg:area(points, base, class, hint)
    if #points > 1 then
        local closed = { { points[1][1], base } }
        for _, point in ipairs(points) do
            closed[#closed + 1] = point
        end
        closed[#closed + 1] = { points[#points][1], base }
        self:element("path", { d = path_data(closed) .. "Z", class = class }, nil, hint)
    end
end

--- The closed shape through <points>.
function svg:shape(points, class, hint)
    self:element("path", { d = path_data(points) .. "Z", class = class }, nil, hint)
end

--- The drawing as text, to stand inside a page.
function svg:render()
    return ('<svg viewBox="0 0 %s %s" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">%s</svg>'):format(
        coordinate(self.width), coordinate(self.height), svg.escape(self.label or ""), table.concat(self.parts))
end

--- A linear scale: function from low..high to from..to.
function svg.linear(low, high, from, to)
    local span = high > low and high - low or 1
    return function(value)
        return from + (value - low) / span * (to - from)
    end
end

--- A logarithmic scale; low and high are above 0; values outside are held at the ends.
function svg.log(low, high, from, to)
    local a, b = math.log(low), math.log(high)
    local span = b > a and b - a or 1
    return function(value)
        return from + (math.log(math.max(low, math.min(high, value))) - a) / span * (to - from)
    end
end

--- About <count> round ticks from 0 to at least <high>: a list, the last one is the axis' end.
function svg.ticks(high, count)
    if not high or high <= 0 then
        return { 0, 1 }
    end
    local rough = high / (count or 4)
    local power = 10 ^ math.floor(math.log10(rough))
    local step = power * 10
    for _, factor in ipairs({ 1, 2, 2.5, 5 }) do
        if factor * power >= rough - 1e-12 then
            step = factor * power
            break
        end
    end
    local list, value = {}, 0
    repeat
        list[#list + 1] = value
        value = value + step
    until list[#list] >= high - 1e-9 * step
    return list
end

--- Ticks of a logarithmic axis that covers low..high: powers of ten and, where there are few, 2 and
-- 5 times them. Returns the list; its first and last are the ends of the axis.
function svg.log_ticks(low, high)
    local first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    if last <= first then
        last = first + 1
    end
    local factors = last - first <= 2 and { 1, 2, 5 } or { 1 }
    local list = {}
    for power = first, last do
        for _, factor in ipairs(factors) do
            local value = factor * 10 ^ power
            if power < last or factor == 1 then
                list[#list + 1] = value
            end
        end
    end
    -- Cut what lies beyond the data on either side, keeping one tick outside.
    while #list > 2 and list[2] <= low do
        table.remove(list, 1)
    end
    while #list > 2 and list[#list - 1] >= high do
        list[#list] = nil
    end
    return list
end

--- Moves label positions apart: <wanted> is a list of {y, ...}; after the call each has .at, at
-- least <gap> apart, within low..high as far as there is room, near where it wanted to be.
function svg.spread(wanted, gap, low, high)
    table.sort(wanted, function(a, b)
        return a.y < b.y
    end)
    local at = low
    for _, item in ipairs(wanted) do
        item.at = math.max(item.y, at)
        at = item.at + gap
    end
    local limit = high
    for i = #wanted, 1, -1 do
        wanted[i].at = math.min(wanted[i].at, limit)
        limit = wanted[i].at - gap
    end
    return wanted
end

return svg
