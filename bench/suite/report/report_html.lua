-- report.html: one file, nothing fetched, readable on a phone, on paper, in light and in dark.

local format = require("bench.suite.report.format")
local live = require("bench.suite.report.live")
local parts = require("bench.suite.report.report_parts")
local plots = require("bench.suite.report.plots")
local story = require("bench.suite.report.story")
local texts = require("bench.suite.report.report_texts")
local svg = require("bench.suite.report.svg")

local html = {}
local escape = svg.escape

-- Folded tables are opened for the printer: paper cannot be clicked.
local SCRIPT = "addEventListener('beforeprint',function(){document.querySelectorAll('details').forEach(function(d){d.open=true})})"

local function each_part(record, kind)
    local list = {}
    for _, document in ipairs(record.documents) do
        for _, part in ipairs(document.parts) do
            if part.kind == kind then
                list[#list + 1] = part
            end
        end
    end
    return list
end

-- What the tiles at the top count.
local function totals(record)
    local t = { claims = {}, judged = {}, stacks = 0, missing = 0, requests = 0, failed = 0 }
    local seen, absent = {}, {}
    for _, part in ipairs(each_part(record, "comparison")) do
        for _, claim in ipairs(part.claims) do
            t.claims[#t.claims + 1] = { claim = claim, context = part.title }
            t.judged[claim.judgement] = (t.judged[claim.judgement] or 0) + 1
        end
        for _, arm in ipairs(part.arms) do
            if arm.summary then
                seen[arm.stack or arm.url] = true
                t.requests = t.requests + (arm.summary.requests.ok or 0)
                t.failed = t.failed + (arm.summary.requests.failed or 0)
            else
                absent[arm.stack or arm.url] = true
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

local function tile(value, text)
    return ("<div class=tile><b>%s</b><span>%s</span></div>"):format(escape(value), escape(text))
end

local function tiles(t)
    local judged = t.judged
    return "<div class=tiles>" .. tile(tostring(judged.reproduced or 0), "claims reproduced")
        .. tile(tostring(judged.reversed or 0), "reversed")
        .. tile(tostring(judged.equal or 0), "no difference shown")
        .. tile(tostring(judged.artefact or 0), "artefacts of the measurement")
        .. tile(tostring(t.stacks), t.missing > 0 and ("stacks measured, %d not"):format(t.missing) or "stacks measured")
        .. tile(format.short(t.requests), "correct answers, " .. format.number(t.failed) .. " failed") .. "</div>"
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
    for i, mark in ipairs(record.marks) do
        notes[i] = '<p class="note">' .. escape(mark) .. "</p>"
    end
    if record.failure then
        notes[#notes + 1] = '<p class="note">The run ended early: ' .. escape(record.failure) .. "</p>"
    end
    local when = record.started:gsub("T", " "):gsub("Z", " UTC")
    local meta = ("%s run of %s, profile %s%s"):format(state, when, record.profile,
        record.elapsed_s and ", " .. live.clock(record.elapsed_s) .. " min" or "")
    local where = ("%s, %s, %s."):format(machine.cpu or "Unknown processor", format.processors(machine),
        machine.system or machine.kernel)
    return "<header class=top><p class=meta>" .. escape(meta) .. "</p><h1>Published web benchmarks, measured again</h1>"
        .. "<p class=lead>Every page was verified before it was measured, the stacks took turns in random order, "
        .. "and only correct answers count. " .. escape(where) .. "</p>" .. table.concat(notes)
        .. "<nav>" .. table.concat(links) .. "</nav>" .. tiles(t) .. "</header>"
end

-- One line for each document, beside the figure of all claims.
local function brief(record)
    local items = {}
    for _, document in ipairs(record.documents) do
        local lines = story.lines(document)
        items[#items + 1] = ('<li><a href="#%s">%s</a><p>%s</p><p class=small>%s</p></li>'):format(escape(document.name),
            escape(document.title), parts.prose(lines[3].text), parts.prose(lines[4].text))
    end
    return "<div><h4>In short</h4><ul class=brief>" .. table.concat(items) .. "</ul></div>"
end

local function overview(record, t)
    if #t.claims == 0 then
        return ""
    end
    local rows = {}
    for _, document in ipairs(record.documents) do
        for _, part in ipairs(document.parts) do
            for _, claim in ipairs(part.claims or {}) do
                local pair = claim.pair or {}
                rows[#rows + 1] = { { html = ('<a href="#%s">%s</a>'):format(escape(part.name), escape(document.name)) }, part.title,
                    claim.faster .. " > " .. claim.slower, format.ratio(claim.published_ratio), format.ratio(pair.ratio),
                    format.interval(pair.low, pair.high), parts.chip(claim.judgement, claim.judgement_text) }
            end
        end
    end
    local key = parts.key({ { "then", "var(--card)", "published" }, { "round", "var(--good)", "here: same winner" },
        { "round", "var(--bad)", "here: other winner" }, { "round", "var(--faint)", "here: no difference shown" } })
    return "<article><header><h3>What holds of the published claims</h3><p class=load>"
        .. "How many times as fast the published winner was then, "
        .. "and is here. A dashed diamond counted error pages.</p></header><div class=figures>"
        .. parts.figure("Then and now", plots.claims(t.claims), key) .. brief(record) .. "</div>"
        .. parts.details("The same as a table", parts.table({ "Document", "Comparison", "Claim", ">then", ">now", ">95 % interval",
            "Judgement" }, rows)) .. "</article>"
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
    for _, entry in ipairs({ { "Then", document.setting }, { "Today", document.today } }) do
        if entry[2] then
            background[#background + 1] = ("<h4>%s</h4><p>%s</p>"):format(entry[1], parts.prose(entry[2]))
        end
    end
    if #background > 0 then
        out[#out + 1] = parts.details("The set-up then and today", table.concat(background))
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
    local out = { parts.head("Published web benchmarks, measured again"), top(record, t), "<main>", overview(record, t) }
    for _, document in ipairs(record.documents) do
        out[#out + 1] = document_section(document, record)
    end
    out[#out + 1] = machine_section(record) .. texts.method
    out[#out + 1] = "</main><footer>" .. escape(record.schema) .. "; rendered from results.json beside this file. "
        .. "Render again: <code>bench/bench report FOLDER</code></footer><script>" .. SCRIPT .. "</script></body></html>\n"
    return table.concat(out)
end

return html
