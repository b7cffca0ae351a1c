-- Pieces of report.html: one comparison, the interpreters, an experiment. Results in, HTML out.

local doubts = require("bench.suite.report.doubts")
local format = require("bench.suite.report.format")
local plots = require("bench.suite.report.plots")
local plots_time = require("bench.suite.report.plots_time")
local svg = require("bench.suite.report.svg")
local tables = require("bench.suite.report.tables")
local texts = require("bench.suite.report.report_texts")

local parts = {}
local escape = svg.escape

-- What a report may load: nothing but what stands in it.
local POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

--- The beginning of a page, up to its body.
function parts.head(title)
    return '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        .. '<meta name="viewport" content="width=device-width,initial-scale=1">'
        .. '<meta name="color-scheme" content="light dark">'
        .. ('<meta http-equiv="Content-Security-Policy" content="%s">'):format(POLICY)
        .. '<link rel="icon" href="data:,"><title>' .. escape(title) .. "</title><style>" .. texts.css .. "</style></head><body>"
end

--- Text with `code` marked as such, everything else escaped.
function parts.prose(text)
    return (escape(text or ""):gsub("`([^`]*)`", "<code>%1</code>"))
end

--- A table. head: list of titles, a leading ">" aligns right. rows: lists of cells; a cell is text
-- or {html = "..."}.
function parts.table(head, rows)
    local out = { '<div class="scroll"><table><thead><tr>' }
    local class = {}
    for i, title in ipairs(head) do
        local right = title:sub(1, 1) == ">"
        class[i] = right and ' class="n"' or ""
        out[#out + 1] = ("<th%s>%s</th>"):format(class[i], escape(right and title:sub(2) or title))
    end
    out[#out + 1] = "</tr></thead><tbody>"
    for _, row in ipairs(rows) do
        out[#out + 1] = "<tr>"
        for i = 1, #head do
            local cell = row[i] == nil and "" or row[i]
            out[#out + 1] = ("<td%s>%s</td>"):format(class[i], type(cell) == "table" and cell.html or escape(cell))
        end
        out[#out + 1] = "</tr>"
    end
    out[#out + 1] = "</tbody></table></div>"
    return table.concat(out)
end

--- A table of report/tables.lua. link(i): the name of the place that row <i> leads to, or nil.
function parts.grid(built, link)
    local head, rows = {}, {}
    for i, column in ipairs(built.head) do
        head[i] = (column.left and "" or ">") .. column.text
    end
    for i, row in ipairs(built.rows) do
        rows[i] = {}
        for k, cell in ipairs(row) do
            rows[i][k] = type(cell) == "table" and parts.chip(cell.chip, cell.text) or cell
        end
        if link then
            rows[i][1] = { html = ('<a href="#%s">%s</a>'):format(escape(link(i)), escape(rows[i][1])) }
        end
    end
    return parts.table(head, rows)
end

--- A foldable block.
function parts.details(summary, content)
    return ("<details><summary>%s</summary><div>%s</div></details>"):format(escape(summary), content)
end

--- A figure with its caption and key, or nothing when there is no drawing.
function parts.figure(caption, drawing, key)
    return drawing and ("<figure><figcaption>%s</figcaption>%s%s</figure>"):format(escape(caption), drawing, key or "") or ""
end

--- The key of a figure: list of {class, colour, text}.
function parts.key(entries)
    local items = {}
    for i, entry in ipairs(entries) do
        items[i] = ('<li><i class="%s" style="background:%s"></i>%s</li>'):format(entry[1], entry[2], escape(entry[3]))
    end
    return '<ul class="key">' .. table.concat(items) .. "</ul>"
end

--- A judgement as a coloured chip.
function parts.chip(kind, text)
    return { html = ('<span class="chip %s">%s</span>'):format(kind, escape(text)) }
end

local function load_text(part)
    local load = part.load
    local measured = part.slot_requests and ("%s requests a slot"):format(format.number(part.slot_requests))
        or ("slots of %g s"):format(part.slot_s or 0)
    return ("%s%s clients, %s, %s, %d rounds%s%s"):format(
        load.command and ("published with <code>%s</code>; measured here with "):format(escape(load.command)) or "",
        format.number(load.connections), load.keep_alive and "kept connections" or "a connection for each request", measured,
        part.rounds, (part.extra_rounds or 0) > 0 and (", up to %d for open claims"):format(part.rounds + part.extra_rounds) or "",
        part.complete and "" or " (<b>incomplete</b>)")
end

local function claims_table(part)
    local entries = {}
    for i, claim in ipairs(part.claims or {}) do
        entries[i] = { claim = claim }
    end
    return #entries > 0 and parts.grid(tables.claims(entries)) or ""
end

local function options_text(options)
    local list = {}
    for name, value in pairs(options or {}) do
        if type(value) ~= "table" then
            list[#list + 1] = name .. "=" .. tostring(value)
        end
    end
    table.sort(list)
    return #list > 0 and table.concat(list, " ") or "as described"
end

local function setup_text(part)
    local out = {}
    for _, arm in ipairs(part.arms) do
        out[#out + 1] = ("<h4>%s</h4><p class=small>%s; variant: %s; options: %s%s%s%s</p>"):format(escape(arm.key),
            escape(arm.title or ""),
            escape(tables.variant(arm)), escape(options_text(arm.options)), arm.children and "; children: " .. arm.children or "",
            arm.listen and "; backlog: " .. arm.listen or "",
            arm.warmup and ("; warm-up: %.1f s discarded, %s"):format(arm.warmup.discarded_s, arm.warmup.steady
                and "steady" or "not steady") or "")
        if arm.why and #arm.why > 0 then
            local items = {}
            for i, reason in ipairs(arm.why) do
                items[i] = "<li>" .. escape(reason) .. "</li>"
            end
            out[#out + 1] = "<ul class=findings>" .. table.concat(items) .. "</ul>"
        end
        local slot = (arm.slots or {})[1]
        local commands = {}
        for _, command in ipairs(arm.commands or {}) do
            commands[#commands + 1] = command
        end
        if slot then
            commands[#commands + 1] = table.concat(slot.argv, " ")
        end
        if #commands > 0 then
            out[#out + 1] = "<pre>" .. escape(table.concat(commands, "\n")) .. "</pre>"
        end
        for _, configuration in ipairs(arm.configurations or {}) do
            out[#out + 1] = parts.details(configuration.name or "configuration", "<pre>" .. escape(configuration.text or "") .. "</pre>")
        end
    end
    return table.concat(out)
end

-- Bytes and processor time side by side where compression was asked for.
local function wire_text(part)
    local list = {}
    for _, arm in ipairs(part.headers and part.arms or {}) do
        if arm.summary then
            list[#list + 1] = ("%s %s and %s"):format(arm.key, format.bytes(arm.summary.bytes_per_answer),
                format.us(arm.summary.server_cpu_us_per_request))
        end
    end
    return #list > 1 and ("On the wire and in server time, an answer costs: %s."):format(table.concat(list, "; "))
end

local UNREMARKABLE = { queueing = true, client_aborted = true, client_saturated = true }

-- What a reader must know beside the figures: tuning, missing stacks, marks, causes, noise.
local function notes(part)
    local items = {}
    local function add(text)
        items[#items + 1] = "<li>" .. parts.prose(text) .. "</li>"
    end
    for _, pair in ipairs(part.tuning or {}) do
        add(("Tuning %s: %s."):format(pair.a, pair.text))
    end
    for _, pair in ipairs(part.floors or {}) do
        add(("%s reaches %s of the rate of %s, a responder that does nothing but answer (95 %% interval %s)."):format(pair.b,
            format.ratio(pair.ratio), pair.a, format.interval(pair.low, pair.high)))
    end
    local wire = wire_text(part)
    if wire then
        add(wire)
    end
    for _, arm in ipairs(part.arms) do
        if not arm.summary and arm.reason then
            add(("%s: %s (%s)."):format(arm.key, arm.state, tostring(arm.reason)))
        end
        for _, cause in ipairs(arm.causes or {}) do
            if not UNREMARKABLE[cause.cause] then
                add(("%s: %s. Evidence: %s."):format(arm.key, cause.title, cause.evidence))
            end
        end
    end
    for _, text in ipairs(part.notes or {}) do
        add(text)
    end
    local noise = part.noise or {}
    if noise.measured then
        add(("Noise: %s measured twice in each round differs from itself by %s (robust, at least 3 %% is assumed). "
            .. "A smaller gain is not called one."):format(noise.arm, format.percent(noise.measured)))
    end
    return #items > 0 and '<ul class="findings">' .. table.concat(items) .. "</ul>" or ""
end

-- Doubts, folded; the table's column has their numbers.
local function doubts_block(part)
    local items = {}
    for i, entry in ipairs((doubts.of(part))) do
        items[i] = "<li>" .. escape(doubts.line(entry)) .. "</li>"
    end
    return #items > 0 and parts.details(("Doubts (%d): what to keep in mind with these figures"):format(#items),
        '<ul class="findings plain">' .. table.concat(items) .. "</ul>") or ""
end

-- The key of the rates: only what the figure has.
local function rate_key(part)
    local roles, entries = {}, {}
    for _, arm in ipairs(part.arms) do
        roles[plots.role(arm)] = arm.summary ~= nil or roles[plots.role(arm)]
    end
    for _, entry in ipairs({ { "documented", "var(--s1)", "as documented" }, { "found", "var(--s1)", "as found" },
        { "tuned", "var(--s2)", "tuned" }, { "reference", "var(--ref)", "reference" } }) do
        entries[#entries + 1] = roles[entry[1]] and { "", entry[2], entry[3] } or nil
    end
    entries[#entries + 1] = { "", "var(--s6)", "arithmetic bound" }
    return parts.key(entries)
end

local CPU_KEY = parts.key({ { "", "var(--s1)", "front" }, { "", "var(--s8)", "application" }, { "", "var(--s5)", "behind it" },
    { "", "var(--ref)", "load client" } })

--- One comparison.
function parts.comparison(part, record)
    local out = { ("<article id=%q><header><h3>%s</h3><p class=load>%s</p></header>"):format(part.name, parts.prose(part.title),
        load_text(part)) }
    if part.about then
        out[#out + 1] = "<p>" .. parts.prose(part.about) .. "</p>"
    end
    out[#out + 1] = '<div class="figures">'
        .. parts.figure("Correct answers per second", plots.rates(part), rate_key(part))
        .. parts.figure("What an answer costs", plots.cpu(part), CPU_KEY)
        .. parts.figure("How long answers take", plots_time.latency(part))
        .. parts.figure("Who used the processors, when", plots_time.timeline(part, record.machine.cpus))
        .. "</div>"
    out[#out + 1] = "<div style='margin-top:18px'>" .. claims_table(part) .. "</div>"
    out[#out + 1] = "<div style='margin-top:14px'>" .. parts.grid(tables.short(part)) .. notes(part) .. doubts_block(part) .. "</div>"
    out[#out + 1] = parts.details("Numbers: rates, response times, resources, every slot", "<h4>Rates</h4>" .. parts.grid(tables.rates(part))
        .. "<h4 class=next>Response times (all rounds merged)</h4>" .. parts.grid(tables.latency(part))
        .. (tables.few(part) and "<p class=small>* fewer than ten answers were slower: a hint, no measurement.</p>" or "")
        .. "<h4 class=next>Resources</h4>" .. parts.grid(tables.resources(part))
        .. "<h4 class=next>Slots</h4>" .. parts.grid(tables.slots(part)))
    out[#out + 1] = parts.details("Commands, options, configurations", setup_text(part))
    out[#out + 1] = "</article>"
    return table.concat(out)
end

--- The interpreters as whole processes.
function parts.programs(part)
    local rows = {}
    for i, cell in ipairs(part.cells) do
        local published = cell.published or {}
        local function times(source, pick)
            return source and ("%.3f"):format(pick and source.median or source) or ""
        end
        rows[i] = { cell.program, cell.title, times(published.real_s), times(published.user_s), times(published.system_s),
            times(cell.real_s, true), times(cell.user_s, true), times(cell.system_s, true), cell.problem or table.concat(cell.argv, " ") }
    end
    local verdicts = {}
    for i, pair in ipairs(part.pairs or {}) do
        verdicts[i] = "<li>" .. escape(pair.program .. ": " .. pair.text) .. "</li>"
    end
    return ("<article id=%q><header><h3>%s</h3><p class=load>%s</p></header>"):format(part.name, escape(part.title),
        part.reading and "Published reading: " .. escape(part.reading) or "")
        .. "<div class=figures>" .. parts.figure("Time of the whole process", plots.programs(part))
        .. "<div><h4>Here, paired by round</h4><ul class=findings>" .. table.concat(verdicts) .. "</ul></div></div>"
        .. parts.details("Numbers and commands", parts.table({ "Program", "Interpreter", ">published real s", ">user", ">system",
            ">measured real s",
            ">user", ">system", "command" }, rows)) .. "</article>"
end

local function trial_rows(part)
    local rows = {}
    for i, trial in ipairs(part.trials) do
        local client = (trial.slot or {}).client
        if client then
            local causes = {}
            for _, cause in ipairs(trial.causes or {}) do
                causes[#causes + 1] = cause.title .. " (" .. cause.evidence .. ")"
            end
            rows[i] = { trial.label, trial.stack, options_text(trial.options), format.rate(trial.slot.ok_per_s),
                format.number(client.requests.ok), format.failures(client.failures), format.us((client.response_us or {}).max),
                table.concat(causes, "; ") }
        else
            rows[i] = { trial.label, trial.stack, options_text(trial.options), trial.reason or "" }
        end
    end
    return parts.table({ "Trial", "stack", "options", ">correct", ">answers", "failed", ">slowest", "causes from evidence" }, rows)
end

--- An artefact provoked on purpose.
function parts.experiment(part)
    local items = {}
    for i, line in ipairs(part.conclusions or { "Not measured: " .. tostring(part.reason or "interrupted") }) do
        items[i] = "<li>" .. parts.prose(line) .. "</li>"
    end
    return ("<article id=%q><header><h4>Provoked on purpose</h4><h3>%s</h3><p class=load>%s</p></header>"):format(part.name,
        parts.prose(part.title), parts.prose(part.about)) .. "<ul class=findings>" .. table.concat(items) .. "</ul>"
        .. parts.details("Numbers", trial_rows(part)) .. "</article>"
end

return parts
