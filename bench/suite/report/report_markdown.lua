-- report.md: the run as a page for a repository. From the results alone.

local doubts = require("bench.suite.report.doubts")
local format = require("bench.suite.report.format")
local story = require("bench.suite.report.story")
local tables = require("bench.suite.report.tables")

local markdown = {}

-- A table: head = list of titles (a leading ">" aligns right), rows = lists of texts.
local function table_text(head, rows)
    local titles, rule = {}, {}
    for i, title in ipairs(head) do
        local right = title:sub(1, 1) == ">"
        titles[i] = right and title:sub(2) or title
        rule[i] = right and "---:" or "---"
    end
    local lines = { "| " .. table.concat(titles, " | ") .. " |", "| " .. table.concat(rule, " | ") .. " |" }
    for _, row in ipairs(rows) do
        local cells = {}
        for i = 1, #head do
            cells[i] = tostring(row[i] or ""):gsub("|", "\\|"):gsub("\n", " ")
        end
        lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
    end
    return table.concat(lines, "\n") .. "\n"
end

-- A table of report/tables.lua; verdicts stand out, unless they are none.
local function grid(built)
    local head, rows = {}, {}
    for i, column in ipairs(built.head) do
        head[i] = (column.left and "" or ">") .. column.text
    end
    for i, row in ipairs(built.rows) do
        rows[i] = {}
        for k, cell in ipairs(row) do
            local plain = type(cell) ~= "table"
            rows[i][k] = plain and cell or (cell.chip == "few" or cell.chip == "open") and cell.text or "**" .. cell.text .. "**"
        end
    end
    return table_text(head, rows)
end

local function comparison_text(part)
    local out = { ("### %s\n"):format(part.title) }
    local function add(...)
        out[#out + 1] = string.format(...)
    end
    add("`%s`, %d clients, %s; %d of %d rounds%s.\n", part.load.command or part.name, part.load.connections,
        part.load.keep_alive and "kept connections" or "a connection for each request", part.rounds, part.rounds_planned,
        part.complete and "" or " (incomplete)")
    add("%s", grid(tables.short(part)))
    local entries = {}
    for i, claim in ipairs(part.claims or {}) do
        entries[i] = { claim = claim }
    end
    if #entries > 0 then
        add("%s", grid(tables.claims(entries)))
    end
    for _, pair in ipairs(part.tuning or {}) do
        add("- Tuning %s: %s.", pair.a, pair.text)
    end
    for _, pair in ipairs(part.floors or {}) do
        add("- %s reaches %s of %s (95 %% interval %s).", pair.b, format.ratio(pair.ratio), pair.a,
            format.interval(pair.low, pair.high))
    end
    for _, text in ipairs(part.notes or {}) do
        add("- %s", text)
    end
    if (part.noise or {}).measured then
        add("- Noise: %s measured twice in a round differs from itself by %s.", part.noise.arm, format.percent(part.noise.measured))
    end
    for _, entry in ipairs((doubts.of(part))) do
        add("- Doubt: %s", doubts.line(entry))
    end
    if tables.few(part) then
        add("- \\* fewer than ten answers were slower: a hint, no measurement.")
    end
    return table.concat(out, "\n") .. "\n"
end

local function programs_text(part)
    local rows = {}
    for _, cell in ipairs(part.cells) do
        local published = cell.published
        rows[#rows + 1] = {
            cell.program, cell.title,
            published and ("%.3f / %.3f / %.3f (%s)"):format(published.real_s, published.user_s, published.system_s,
                cell.published_name) or "",
            cell.real_s and ("**%.3f** / %.3f / %.3f"):format(cell.real_s.median, cell.user_s.median,
                cell.system_s.median) or cell.problem,
        }
    end
    return ("### %s\n\n"):format(part.title) .. table_text({ "program", "interpreter", ">published real/user/system s",
        ">measured real/user/system s" }, rows)
end

local function experiment_text(part)
    local out = { ("### %s\n"):format(part.title), part.about .. "\n" }
    for _, line in ipairs(part.conclusions or { "Not measured: " .. tostring(part.reason) }) do
        out[#out + 1] = "- " .. line
    end
    return table.concat(out, "\n") .. "\n"
end

local RENDER = { comparison = comparison_text, programs = programs_text, experiment = experiment_text }

local function document_text(document)
    story.effects(document)
    local out = { ("## %s%s\n"):format(document.title, document.year and " (" .. document.year .. ")" or "") }
    for _, line in ipairs(story.lines(document)) do
        out[#out + 1] = ("- **%s.** %s"):format(line.head, line.text)
    end
    out[#out + 1] = ""
    for _, part in ipairs(document.parts) do
        out[#out + 1] = RENDER[part.kind](part)
    end
    return table.concat(out, "\n")
end

--- The page as text.
function markdown.render(record)
    local machine = record.machine
    local out = {
        "# " .. story.title(record) .. "\n",
        story.question(record) .. "\n",
        story.trust(record) .. "\n",
        ("%s, profile `%s`, %s. %s, %s, %s, %s."):format(record.started, record.profile,
            record.complete and "complete" or "**incomplete" .. (record.interrupted and " (" .. record.interrupted .. ")" or "") .. "**",
            machine.cpu or "?", format.processors(machine), machine.system or "", machine.kernel),
    }
    for _, mark in ipairs({ story.smoke(record), unpack(record.marks) }) do
        out[#out + 1] = "\n> Note: " .. mark
    end
    out[#out + 1] = "\nRates are correct answers per second; each is the median of interleaved rounds with its 95 % interval. "
        .. "A winner is named only when the interval of the ratio excludes 1 and the gain exceeds the noise.\n"
    local entries = story.claims(record.documents)
    out[#out + 1] = #entries > 0 and grid(tables.claims(entries)) or ""
    for _, document in ipairs(record.documents) do
        out[#out + 1] = document_text(document)
    end
    return table.concat(out, "\n")
end

return markdown
