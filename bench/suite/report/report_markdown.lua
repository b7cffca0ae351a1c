-- report.md: the run as a page for a repository. From the results alone.

local format = require("bench.suite.report.format")
local story = require("bench.suite.report.story")

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

local function arm_row(arm)
    local summary = arm.summary
    local published = arm.published
    if not summary then
        return { arm.key, format.rate(published and published.rate_per_s), format.published_failures(published),
            ("*%s: %s*"):format(arm.state, tostring(arm.reason)) }
    end
    local failures = format.failures(summary.failures)
    return {
        arm.key, format.rate(published and published.rate_per_s), format.published_failures(published),
        arm.state == "failed" and ("*failed: %s*"):format(arm.reason)
            or ("**%s** %s"):format(format.rate(summary.ok_per_s.median), format.spread(summary.ok_per_s)),
        format.us(summary.response_us.p50), format.us(summary.response_us.p99), format.us(summary.response_us.max),
        failures == "" and "0" or failures, format.us(summary.server_cpu_us_per_request),
    }
end

local function claim_rows(claims)
    local rows = {}
    for i, claim in ipairs(claims) do
        local pair = claim.pair or {}
        rows[i] = { ("%s > %s"):format(claim.faster, claim.slower), format.ratio(claim.published_ratio), format.ratio(pair.ratio),
            format.interval(pair.low, pair.high), "**" .. claim.judgement_text .. "**" .. (claim.evidence and " (" .. claim.evidence
                .. ")" or "")
            .. (claim.judgement == "artefact" and claim.today ~= "open" and "; with real answers: " .. claim.today_text or "") }
    end
    return rows
end

local CLAIM_HEAD = { "claim", ">published", ">measured", ">95 % interval", "judgement" }

local function comparison_text(part)
    local out = { ("### %s\n"):format(part.title) }
    local function add(...)
        out[#out + 1] = string.format(...)
    end
    add("`%s`, %d clients, %s; %d of %d rounds%s.\n", part.load.command or part.name, part.load.connections,
        part.load.keep_alive and "kept connections" or "a connection for each request", part.rounds, part.rounds_planned,
        part.complete and "" or " (incomplete)")
    local rows = {}
    for i, arm in ipairs(part.arms) do
        rows[i] = arm_row(arm)
    end
    add("%s", table_text({ "stack", ">published", "published failures", ">measured", ">p50", ">p99", ">max", "failures",
        ">CPU/request" }, rows))
    if #part.claims > 0 then
        add("%s", table_text(CLAIM_HEAD, claim_rows(part.claims)))
    end
    for _, pair in ipairs(part.tuning or {}) do
        add("- Tuning %s: %s.", pair.a, pair.text)
    end
    for _, pair in ipairs(part.floors or {}) do
        add("- %s reaches %s of %s (95 %% interval %s).", pair.b, format.ratio(pair.ratio), pair.a,
            format.interval(pair.low, pair.high))
    end
    add("- Noise floor (A/A): %s.", format.percent(part.noise.floor))
    for _, arm in ipairs(part.arms) do
        for _, mark in ipairs((arm.summary or {}).marks or {}) do
            add("- %s: %s.", arm.key, mark)
        end
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

local function overview(record)
    local rows = {}
    for _, document in ipairs(record.documents) do
        for _, part in ipairs(document.parts) do
            for _, row in ipairs(claim_rows(part.claims or {})) do
                table.insert(row, 1, document.name)
                rows[#rows + 1] = row
            end
        end
    end
    return #rows > 0 and table_text({ "document", unpack(CLAIM_HEAD) }, rows) or ""
end

--- The page as text.
function markdown.render(record)
    local machine = record.machine
    local out = {
        "# Published comparisons, measured again\n",
        ("%s, profile `%s`, %s. %s, %s, %s, %s."):format(record.started, record.profile,
            record.complete and "complete" or "**incomplete" .. (record.interrupted and " (" .. record.interrupted .. ")" or "") .. "**",
            machine.cpu or "?", format.processors(machine), machine.system or "", machine.kernel),
    }
    for _, mark in ipairs(record.marks) do
        out[#out + 1] = "\n> Note: " .. mark
    end
    out[#out + 1] = "\nRates are correct answers per second; each is the median of interleaved rounds with its 95 % interval. "
        .. "A winner is named only when the interval of the ratio excludes 1 and the gain exceeds the noise floor.\n"
    out[#out + 1] = overview(record)
    for _, document in ipairs(record.documents) do
        out[#out + 1] = document_text(document)
    end
    return table.concat(out, "\n")
end

return markdown
