-- report.html of a tuning run: the curves over the number of children, the recommendation, the
-- tables. Results in, HTML out.

local format = require("bench.suite.report.format")
local parts = require("bench.suite.report.report_parts")
local plots_time = require("bench.suite.report.plots_time")
local recommend = require("bench.suite.tune.recommend")
local svg = require("bench.suite.report.svg")
local tune_text = require("bench.suite.tune.tune_text")

local html = {}
local escape = svg.escape

-- Points of {n, per_s} as the plot wants them.
local function path(points)
    local list = {}
    for i, point in ipairs(points or {}) do
        list[i] = { x = point.n, y = point.per_s }
    end
    return list
end

local function rate_points(tuning)
    local points = {}
    for _, row in ipairs(tuning.rows) do
        if row.rate then
            points[#points + 1] = { x = row.children, y = row.rate.mean, low = row.rate.low and math.max(0, row.rate.low),
                high = row.rate.high,
                hint = ("%d children: %s"):format(row.children, format.rate(row.rate.mean)) }
        end
    end
    return points
end

local function latency_points(tuning)
    local points = {}
    for _, row in ipairs(tuning.rows) do
        local us = row.response_us and (row.response_us.p99 or row.response_us.max)
        if us and us > 0 then
            points[#points + 1] = { x = row.children, y = us, hint = ("%d children: p99 %s"):format(row.children, format.us(us)) }
        end
    end
    return points
end

local function figures(tuning)
    local choice, curves = tuning.recommendation or {}, tune_text.curves(tuning)
    local title = "children (logarithmic)"
    local rate_key = parts.key({ { "round", "var(--s1)", "measured, 95 % interval" }, { "", "var(--s2)", "scalability law" },
        { "", "var(--faint)", "arithmetic bound" }, { "", "var(--s8)", "recommended" } })
    local rate = plots_time.curve({ label = "Rate over the number of children: " .. tuning.name, x_title = title,
        y_title = "correct answers per second", points = rate_points(tuning), fit = path(curves.usl), bound = path(curves.predicted),
        mark = choice.children })
    local latency = plots_time.curve({ label = "p99 over the number of children: " .. tuning.name, x_title = title,
        y_title = "99th percentile of the response time", points = latency_points(tuning), mark = choice.children, log_y = true,
            y_text = format.us })
    return "<div class=figures>" .. parts.figure("What more children buy", rate, rate_key)
        .. parts.figure("What they cost in waiting", latency) .. "</div>"
end

local function findings(tuning)
    local choice, items = tuning.recommendation, {}
    local function add(text)
        items[#items + 1] = "<li>" .. parts.prose(text) .. "</li>"
    end
    if not choice then
        add("Incomplete: no recommendation.")
    elseif choice.children then
        add(("Binding constraint: %s. %s."):format(choice.binding, choice.why))
        add(("Confidence: %s (%s)."):format(choice.confidence, choice.confidence_why))
    else
        add("No recommendation: " .. tostring(choice.refused) .. ". What helps: " .. tostring(choice.remedy or "-") .. ".")
    end
    for _, mark in ipairs(tuning.marks or {}) do
        add("Note: " .. mark .. ".")
    end
    return "<ul class=findings>" .. table.concat(items) .. "</ul>"
end

local function section(tuning)
    if tuning.error then
        return ("<article><header><h3>%s</h3></header><p class=note>Could not be measured: %s</p></article>"):format(escape(tuning.name),
            escape(tuning.error))
    end
    local choice = tuning.recommendation
    local out = { ("<article id=%q><header><h4>%s</h4><h3>%s</h3></header>"):format(tuning.name, escape(tuning.name),
        choice and choice.children and recommend.count_text(choice) or "No recommendation"), findings(tuning),
            figures(tuning) }
    if choice and choice.children then
        out[#out + 1] = "<h4>Lines to paste</h4><pre>" .. escape(table.concat(tuning.lines, "\n")) .. "</pre>"
    end
    -- The text form has every number of the sweep, aligned, with its legend.
    out[#out + 1] = parts.details("All numbers, fits, capacity on paper", "<pre>" .. escape(tune_text.text(tuning))
        .. "</pre><ul class=findings><li>"
        .. table.concat(tune_text.legend, "</li><li>") .. "</li></ul>")
    if tuning.commands then
        out[#out + 1] = parts.details("Commands", "<pre>" .. escape(table.concat(tuning.commands, "\n")) .. "</pre>")
    end
    return table.concat(out) .. "</article>"
end

--- The page as text. <record>: results of a tuning run.
function html.render(record)
    local machine = record.machine or {}
    local where = ("%s, %s, %s."):format(machine.cpu or "Unknown processor", format.processors(machine),
        machine.kernel or "")
    local out = { parts.head("How many children?"), "<header class=top><h1>How many children?</h1><p class=lead>", escape(where), "</p>",
        record.complete and "" or '<p class="note">Incomplete: the run was interrupted.</p>', "</header><main>" }
    for _, tuning in ipairs(record.tunings) do
        out[#out + 1] = section(tuning)
    end
    local assumptions = {}
    for i, text in ipairs(recommend.assumptions or {}) do
        assumptions[i] = "<li>" .. escape(text) .. "</li>"
    end
    out[#out + 1] = "<article><h3>Assumptions of the capacity on paper</h3><ul class=findings>" .. table.concat(assumptions)
        .. "</ul></article>"
    out[#out + 1] = "</main><footer>" .. escape(record.command or "") .. "</footer></body></html>\n"
    return table.concat(out)
end

return html
