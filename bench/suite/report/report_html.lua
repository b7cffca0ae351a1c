-- report.html: one file, nothing fetched, readable on a phone, on paper, in light and in dark.

local format = require("bench.suite.report.format")
local live = require("bench.suite.report.live")
local parts = require("bench.suite.report.report_parts")
local plots = require("bench.suite.report.plots")
local story = require("bench.suite.report.story")
local texts = require("bench.suite.report.report_texts")
local svg = require("bench.suite.report.svg")
local tables = require("bench.suite.report.tables")

local html = {}
local escape = svg.escape

-- Folded tables are opened for the printer: paper cannot be clicked.
local SCRIPT = "addEventListener('beforeprint',function(){document.querySelectorAll('details').forEach(function(d){d.open=true})})"

-- What the line of counts says.
local function totals(record)
    local t = { stacks = 0, missing = 0, requests = 0, failed = 0 }
    local seen, absent = {}, {}
    for _, document in ipairs(record.documents) do
        for _, part in ipairs(document.parts) do
            for _, arm in ipairs(part.arms or {}) do
                if arm.summary then
                    seen[arm.stack or arm.url] = true
                    t.requests = t.requests + (arm.summary.requests.ok or 0)
                    t.failed = t.failed + (arm.summary.requests.failed or 0)
                else
                    absent[arm.stack or arm.url] = true
                end
            end
        end
    end
    for name in pairs(seen) do
        t.stacks = t.stacks + 1
        absent[name] = nil
    end
    for _ in pairs(absent) do
        t.missing = t.missing + 1
    end
    return t
end

local function count_line(t)
    return ("%d %s measured%s; %s correct answers, %s failed."):format(t.stacks, t.stacks == 1 and "stack" or "stacks",
        t.missing > 0 and (", %d not"):format(t.missing) or "", format.short(t.requests), format.number(t.failed))
end

local CLAIMS_KEY = { { "round", "var(--good)", "measured: the claimed winner" }, { "round", "var(--bad)", "measured: the other one" },
    { "round", "var(--accent)", "equal within 10 %" }, { "round", "var(--faint)", "open" } }

-- The verdicts of all claims as one picture, in a shape for wide pages and one for narrow ones.
local function verdicts(record)
    local entries = story.claims(record.documents)
    if #entries == 0 then
        return ""
    end
    local key, own = {}, story.own(record)
    if not own then
        key[1] = { "then", "var(--card)", "published (dashed: counted error pages)" }
    end
    for _, entry in ipairs(CLAIMS_KEY) do
        key[#key + 1] = entry
    end
    return "<article class=verdicts id=verdicts><div class=wide>" .. plots.claims(entries, "wide") .. "</div><div class=narrow>"
        .. plots.claims(entries, "narrow") .. "</div>" .. parts.key(key) .. "</article>"
end

local function top(record, t)
    local machine = record.machine
    local state = record.complete and "Complete"
        or "Incomplete" .. (record.interrupted and " (interrupted by " .. record.interrupted .. ")" or "")
    local links = {}
    for _, document in ipairs(record.documents) do
        links[#links + 1] = ('<a href="#%s">%s%s</a>'):format(escape(document.name), escape(document.name),
            document.year and " (" .. document.year .. ")" or "")
    end
    links[#links + 1] = '<a href="#machine">Machine</a><a href="#method">How to read this</a>'
    local notes = {}
    local function note(text)
        notes[#notes + 1] = text and '<p class="note">' .. escape(text) .. "</p>" or nil
    end
    note(story.smoke(record))
    note(record.failure and "The run ended early: " .. record.failure)
    local marks = {}
    for i, mark in ipairs(record.marks) do
        marks[i] = '<p class="note">' .. escape(mark) .. "</p>"
    end
    local when = record.started:gsub("T", " "):gsub("Z", " UTC")
    local meta = ("%s run of %s, profile %s%s. %s, %s. %s"):format(state, when, record.profile,
        record.elapsed_s and ", " .. live.clock(record.elapsed_s) .. " min" or "", machine.cpu or "Unknown processor",
        format.processors(machine), count_line(t))
    return "<header class=top><h1>" .. escape(story.title(record)) .. "</h1><p class=question>" .. escape(story.question(record)) .. "</p>"
        .. "<p class=trust>" .. escape(story.trust(record)) .. "</p>" .. table.concat(notes) .. verdicts(record)
        .. table.concat(marks) .. "<p class=meta>" .. escape(meta) .. "</p><nav>" .. table.concat(links) .. "</nav></header>"
end

-- One entry for each document: what was measured, and the verdict.
local function brief(record)
    local items = {}
    for _, document in ipairs(record.documents) do
        items[#items + 1] = ('<li><a href="#%s">%s</a><p>%s</p><p class=small>%s</p></li>'):format(escape(document.name),
            escape(document.title), parts.prose(story.line(document, "Measured here")), parts.prose(story.line(document, "Verdict")))
    end
    return "<ul class=brief>" .. table.concat(items) .. "</ul>"
end

local function overview(record)
    local entries = story.claims(record.documents)
    if #entries == 0 then
        return ""
    end
    return "<article><header><h3>In short</h3></header>" .. (#record.documents > 1 and brief(record) or "")
        .. parts.details("All claims as a table", parts.grid(tables.claims(entries), function(i)
            return entries[i].part.name
        end)) .. "</article>"
end

local RENDER = { comparison = parts.comparison, programs = parts.programs, experiment = parts.experiment }

local function document_section(document, record)
    local lines = {}
    for _, line in ipairs(story.lines(document)) do
        lines[#lines + 1] = ("<dt>%s</dt><dd>%s</dd>"):format(escape(line.head), parts.prose(line.text))
    end
    local out = { ('<section class="document" id="%s"><p class=year>%s</p><h2>%s</h2><dl class=story>%s</dl>'):format(escape(document.name),
        escape(document.year or ""), escape(document.title), table.concat(lines)) }
    local background = {}
    for _, entry in ipairs({ { "Published set-up", document.setting }, { "Measured here", document.today } }) do
        if entry[2] then
            background[#background + 1] = ("<h4>%s</h4><p>%s</p>"):format(entry[1], parts.prose(entry[2]))
        end
    end
    if #background > 0 then
        out[#out + 1] = parts.details("The set-ups, published and here", table.concat(background))
    end
    for _, part in ipairs(document.parts) do
        out[#out + 1] = RENDER[part.kind](part, record)
    end
    for _, effect in ipairs(document.effects or {}) do
        out[#out + 1] = '<p class="note">' .. escape(effect.text) .. "</p>"
    end
    return table.concat(out) .. "</section>"
end

local function machine_section(record)
    local machine = record.machine
    local rows = {}
    local function add(name, value)
        if value ~= nil then
            rows[#rows + 1] = { name, tostring(value) }
        end
    end
    add("processor", machine.cpu)
    add("processors used", format.processors(machine))
    add("virtual machine", machine.virtualised and "yes" or "no")
    add("memory that a control group allows", machine.memory_limit_mib and format.bytes(machine.memory_limit_mib * 1048576))
    add("memory", machine.memory_mib and format.bytes(machine.memory_mib * 1048576))
    add("system", machine.system)
    add("kernel", machine.kernel)
    add("load average before", machine.load_average)
    add("commit", machine.commit)
    add("command", record.command)
    add("seed of the random order", record.seed and ("%d"):format(record.seed))
    for _, source in ipairs({ machine.versions, machine.settings }) do
        local names = {}
        for name in pairs(source) do
            names[#names + 1] = name
        end
        table.sort(names)
        for _, name in ipairs(names) do
            add(name, source[name])
        end
    end
    return '<section class="document" id="machine"><h2>Machine and versions</h2><article>' .. parts.table({ "", "" }, rows)
        .. "</article></section>"
end

--- The page as text.
function html.render(record)
    local t = totals(record)
    for _, document in ipairs(record.documents) do
        story.effects(document)
    end
    local out = { parts.head(story.title(record)), top(record, t), "<main>", overview(record) }
    for _, document in ipairs(record.documents) do
        out[#out + 1] = document_section(document, record)
    end
    out[#out + 1] = machine_section(record) .. (story.own(record) and texts.method_own or texts.method)
    out[#out + 1] = "</main><footer>" .. escape(record.schema) .. "; rendered from results.json beside this file. "
        .. "Render again: <code>bench/bench report FOLDER</code></footer><script>" .. SCRIPT .. "</script></body></html>\n"
    return table.concat(out)
end

return html
