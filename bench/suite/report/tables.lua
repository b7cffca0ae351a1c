-- The tables of a report as texts, the same for report.html, report.md and the terminal. Columns come from
-- analysis/figures.lua and from here; a column in which no row has anything is left out. Pure.

local doubts = require("bench.suite.report.doubts")
local figures = require("bench.suite.analysis.figures")
local format = require("bench.suite.report.format")

local tables = {}

local EMPTY = { [""] = true, [format.dash] = true }

--- Keeps the columns that have something to show. columns: list of {head, cell(row), left}; a cell is a text or
-- {chip = kind, text = ...}. Returns {head (list of {text, left}), rows (lists of cells)}.
function tables.build(columns, rows)
    local result = { head = {}, rows = {} }
    for i in ipairs(rows) do
        result.rows[i] = {}
    end
    for _, column in ipairs(columns) do
        local cells, used = {}, false
        for i, row in ipairs(rows) do
            cells[i] = column.cell(row) or ""
            used = used or not EMPTY[cells[i]]
        end
        if used or #rows == 0 then
            result.head[#result.head + 1] = { text = column.head, left = column.left }
            for i, cell in ipairs(cells) do
                table.insert(result.rows[i], cell)
            end
        end
    end
    return result
end

local function print_as(figure, value)
    return value ~= nil and format[figure.print](value) or ""
end

--- The variant of an arm in words: what runs at the user's address has none of ours.
function tables.variant(arm)
    return arm.url and "as found" or (arm.options or {}).variant or arm.variant or ""
end

local STACK = { head = "stack", left = true, cell = function(arm)
    return arm.key
end }
local VARIANT = { head = "variant", left = true, cell = tables.variant }

local function published(arm, key)
    return (arm.published or {})[key]
end

local PUBLISHED_RATE = { head = "published", cell = function(arm)
    return arm.published and format.rate(arm.published.rate_per_s)
end }
local PUBLISHED_FAILURES = { head = "published failures", left = true, cell = function(arm)
    return arm.published and format.published_failures(arm.published)
end }

local function of_summary(pick)
    return function(arm)
        return arm.summary and pick(arm.summary, arm)
    end
end

local MEASURED = { head = "measured", cell = of_summary(function(summary)
    return summary.slots ~= 0 and format.rate(summary.ok_per_s.median) or "none"
end) }
local INTERVAL = { head = "95 % interval", cell = of_summary(function(summary)
    local rate = summary.ok_per_s
    return rate.low and format.number(rate.low) .. " to " .. format.number(rate.high)
end) }
local SPREAD = { head = "+-", cell = of_summary(function(summary)
    return (format.spread(summary.ok_per_s):gsub("^\194\177 ", ""))
end) }
local FAILED = { head = "failed", left = true, cell = of_summary(function(summary)
    local text = format.failures(summary.failures)
    return text == "" and "0" or text
end) }
-- Why an arm has no figures, or figures of some rounds only.
local STATE = { head = "state", left = true, cell = function(arm)
    if arm.trouble then
        return "failed: " .. arm.trouble
    end
    return not arm.summary and (arm.reason and ("%s: %s"):format(arm.state, tostring(arm.reason)) or arm.state) or ""
end }

local function doubt_column(numbers)
    return { head = "doubts", left = true, cell = function(arm)
        return numbers[arm.key]
    end }
end

-- Columns of the figures that the table <name> shows, out of an arm's summary.
local function figure_columns(name)
    local list = {}
    for _, figure in ipairs(figures.of_table(figures.slot, name)) do
        list[#list + 1] = { head = figure.head, cell = of_summary(function(summary)
            return print_as(figure, summary[figure.key])
        end) }
    end
    return list
end

-- A percentile that fewer than ten answers lie beyond has a star.
local function percentile(times, figure)
    local few = (times.few or {})[figure.key]
    return times[figure.key] and format.us(times[figure.key]) .. (few and "*" or "") or ""
end

local function latency_columns(name)
    local list = {}
    for _, figure in ipairs(name and figures.of_table(figures.latency, name) or figures.latency) do
        list[#list + 1] = figure.head and { head = figure.head, cell = of_summary(function(summary)
            return percentile(summary.response_us or {}, figure)
        end) } or nil
    end
    return list
end

local function joined(...)
    local all = {}
    for _, list in ipairs({ ... }) do
        for _, column in ipairs(list) do
            all[#all + 1] = column
        end
    end
    return all
end

local BINDING = { processor = "processors", children = "children that wait", clients = "clients that wait" }

local function predicted(head, pick, left)
    return { head = head, left = left, cell = function(arm)
        return arm.summary and arm.predicted and pick(arm.predicted)
    end }
end

--- Rates of all arms of <part>, with what bounds them.
function tables.rates(part)
    local _, numbers = doubts.of(part)
    return tables.build(joined({ STACK, VARIANT, PUBLISHED_RATE, PUBLISHED_FAILURES, MEASURED, INTERVAL, { head = "correct",
        cell = of_summary(function(summary)
            return format.number(summary.requests.ok)
        end) }, FAILED }, figure_columns("rates"), {
            predicted("bound", function(p)
                return format.rate(p.rate_per_s)
            end),
            predicted("set by", function(p)
                return BINDING[p.binding]
            end, true),
            predicted("reached", function(p)
                return format.percent(p.share)
            end),
            predicted("Little X R / c", function(p)
                return p.little and ("%.2f"):format(p.little)
            end),
            doubt_column(numbers), STATE,
        }), part.arms)
end

--- The few columns of a table that stands in running text: report.md.
function tables.short(part)
    local _, numbers = doubts.of(part)
    return tables.build(joined({ STACK, VARIANT, PUBLISHED_RATE, PUBLISHED_FAILURES, MEASURED, SPREAD },
        latency_columns("short"), { FAILED }, figure_columns("short"), { doubt_column(numbers), STATE }), part.arms)
end

--- The lines of the terminal.
function tables.terminal(part)
    return tables.build(joined({ STACK, VARIANT, MEASURED, SPREAD }, latency_columns("terminal"),
        { { head = "failed", cell = of_summary(function(summary)
            return summary.failed_share > 0 and format.percent(summary.failed_share) or ""
        end) } }, figure_columns("terminal"), { STATE }), part.arms)
end

--- Response times, the longest connect, and what was published of both.
function tables.latency(part)
    local rows = {}
    for _, arm in ipairs(part.arms) do
        rows[#rows + 1] = arm.summary and arm or nil
    end
    local function then_ms(head, key)
        return { head = head, cell = function(arm)
            local value = published(arm, key)
            return value and format.ms(value)
        end }
    end
    return tables.build(joined({ STACK, VARIANT }, latency_columns(), { { head = "connect max", cell = of_summary(function(summary)
        return format.us((summary.connect_us or {}).max)
    end) }, then_ms("published mean", "mean_ms"), then_ms("published p50", "p50_ms"), then_ms("published p99", "p99_ms"),
        then_ms("published max", "max_ms") }), rows)
end

--- True when a percentile of <part> has a star.
function tables.few(part)
    for _, arm in ipairs(part.arms) do
        if arm.summary and next((arm.summary.response_us or {}).few or {}) then
            return true
        end
    end
    return false
end

--- Resources by process group.
function tables.resources(part)
    local rows = {}
    for _, arm in ipairs(part.arms) do
        for name, group in pairs((arm.summary or {}).groups or {}) do
            rows[#rows + 1] = { arm = arm, name = name, group = group, memory = (arm.memory or {})[name] or {} }
        end
    end
    table.sort(rows, function(a, b)
        return a.arm.key .. a.name < b.arm.key .. b.name
    end)
    local columns = {
        { head = "stack", left = true, cell = function(row)
            return row.arm.key
        end },
        { head = "variant", left = true, cell = function(row)
            return tables.variant(row.arm)
        end },
        { head = "process group", left = true, cell = function(row)
            return row.name
        end },
        { head = "processes", cell = function(row)
            return format.number(row.group.processes)
        end },
    }
    for _, figure in ipairs(figures.process) do
        columns[#columns + 1] = { head = figure.request.head, cell = function(row)
            return print_as(figure.request, row.group[figure.request.key])
        end }
    end
    columns[#columns + 1] = { head = "memory (PSS)", cell = function(row)
        return row.memory.pss_kib and format.bytes(row.memory.pss_kib * 1024)
    end }
    for _, figure in ipairs(figures.of_table(figures.slot, "resources")) do
        columns[#columns + 1] = { head = figure.head, cell = function(row)
            return print_as(figure, row.arm.summary[figure.key])
        end }
    end
    return tables.build(columns, rows)
end

--- Every slot.
function tables.slots(part)
    local rows = {}
    for _, arm in ipairs(part.arms) do
        for _, list in ipairs({ arm.slots or {}, arm.discarded or {} }) do
            for _, slot in ipairs(list) do
                rows[#rows + 1] = { arm = arm, slot = slot, requests = (slot.client or {}).requests or {} }
            end
        end
    end
    local columns = {
        { head = "stack", left = true, cell = function(row)
            return row.arm.key
        end },
        { head = "variant", left = true, cell = function(row)
            return tables.variant(row.arm)
        end },
        { head = "round", cell = function(row)
            return tostring(row.slot.round or "")
        end },
        { head = "position", cell = function(row)
            return tostring(row.slot.position or "") .. (row.slot.twin and " (A/A)" or "")
        end },
        { head = "rate", cell = function(row)
            return format.rate(row.slot.ok_per_s)
        end },
        { head = "correct", cell = function(row)
            return format.number(row.requests.ok)
        end },
        { head = "failed", cell = function(row)
            return format.number(row.requests.failed)
        end },
        { head = "client's verdict", left = true, cell = function(row)
            return row.slot.error or (row.slot.client or {}).verdict
        end },
    }
    for _, figure in ipairs(figures.of_table(figures.slot, "slots")) do
        columns[#columns + 1] = { head = figure.head, cell = function(row)
            return row.slot.client and print_as(figure, figure.of(row.slot))
        end }
    end
    columns[#columns + 1] = { head = "load before", cell = function(row)
        return row.slot.load_before and ("%.2f"):format(row.slot.load_before)
    end }
    columns[#columns + 1] = { head = "note", left = true, cell = function(row)
        return row.slot.discarded or row.slot.repeated and "repeated" or ""
    end }
    return tables.build(columns, rows)
end

--- What is said about a claim beside its verdict.
function tables.evidence(claim)
    local parts, pair = {}, claim.pair or {}
    local function add(text)
        parts[#parts + 1] = text ~= "" and text or nil
    end
    add(claim.evidence)
    if claim.judgement == "artefact" and claim.today ~= "open" then
        add("with correct answers, measured here: " .. claim.today_text)
    end
    if pair.needed then
        add(("about %d rounds would decide it"):format(pair.needed))
    end
    add(claim.unlike)
    add(claim.witness)
    return table.concat(parts, "; ")
end

--- Claims: list of {claim, context, link (name of the part)}.
function tables.claims(entries)
    return tables.build({
        { head = "comparison", left = true, cell = function(entry)
            return entry.context
        end },
        { head = "claim", left = true, cell = function(entry)
            return ("%s > %s"):format(entry.claim.faster, entry.claim.slower)
        end },
        { head = "published", cell = function(entry)
            return format.ratio(entry.claim.published_ratio)
        end },
        { head = "measured", cell = function(entry)
            return format.ratio((entry.claim.pair or {}).ratio)
        end },
        { head = "95 % interval", cell = function(entry)
            local pair = entry.claim.pair or {}
            return format.interval(pair.low, pair.high)
        end },
        { head = "rounds", cell = function(entry)
            return entry.claim.pair and tostring(entry.claim.pair.n)
        end },
        { head = "verdict", left = true, cell = function(entry)
            return { chip = entry.claim.judgement, text = entry.claim.judgement_text }
        end },
        { head = "evidence", left = true, cell = function(entry)
            return tables.evidence(entry.claim)
        end },
    }, entries)
end

local function width_of(text)
    return select(2, text:gsub("[^\128-\191]", ""))
end

--- A table as lines of text in columns, each line indented by two blanks.
function tables.lines(built)
    local widths, lines = {}, {}
    local function text_of(cell)
        return type(cell) == "table" and cell.text or cell
    end
    for i, head in ipairs(built.head) do
        widths[i] = width_of(head.text)
        for _, row in ipairs(built.rows) do
            widths[i] = math.max(widths[i], width_of(text_of(row[i])))
        end
    end
    local function line(cells)
        local out = {}
        for i, head in ipairs(built.head) do
            local text = text_of(cells[i])
            local blanks = (" "):rep(widths[i] - width_of(text))
            out[i] = head.left and text .. blanks or blanks .. text
        end
        return "  " .. table.concat(out, "  "):gsub("%s+$", "")
    end
    local heads = {}
    for i, head in ipairs(built.head) do
        heads[i] = head.text
    end
    lines[1] = line(heads)
    for _, row in ipairs(built.rows) do
        lines[#lines + 1] = line(row)
    end
    return lines
end

return tables
