-- SPDX-License-Identifier: MIT
--
-- What a sweep looks like: the table in the terminal, the lines to paste, the curves for the plot,
-- report.md. Pure but for write(). Works on results read back from a file as well.

local files = require("bench.suite.system.files")
local format = require("bench.suite.report.format")
local recommend = require("bench.suite.tune.recommend")
local usl = require("bench.suite.analysis.usl")

local tune_text = {}

-- --- figures ---------------------------------------------------------------------------

-- Three significant digits, no exponent.
local function figure(value)
    if not value then
        return "-"
    elseif value == math.huge then
        return "-"
    elseif value >= 100 then
        return ("%.0f"):format(value)
    elseif value >= 10 then
        return ("%.1f"):format(value)
    end
    return ("%.2f"):format(value)
end

local function milliseconds(us)
    return us and figure(us / 1000) or "-"
end

local function mebibytes(kib)
    return kib and figure(kib / 1024) or "-"
end

local function percent(part)
    return part and ("%.0f"):format(part * 100) or "-"
end

local function kinds(counts)
    local list = {}
    for name, count in pairs(counts or {}) do
        list[#list + 1] = ("%s %d"):format(name, count)
    end
    table.sort(list)
    return #list > 0 and table.concat(list, ", ") or "0"
end

-- Columns of the two tables: heading with the unit, and the text of a row.
local ANSWERS = {
    { "children", function(row)
        return tostring(row.children)
    end },
    { "rate/s", function(row)
        return row.rate and figure(row.rate.mean) or "-"
    end },
    { "+-%", function(row)
        return row.rate and row.rate.half and row.rate.mean > 0 and figure(row.rate.half / row.rate.mean * 100) or "-"
    end },
    { "bound/s", function(row)
        return row.predicted and figure(row.predicted.per_s) or "-"
    end },
    { "p50 ms", function(row)
        return milliseconds(row.response_us.p50)
    end },
    { "p99 ms", function(row)
        return milliseconds(row.response_us.p99) .. (row.response_us.by_little and "*" or row.response_us.few and "^" or "")
    end },
    { "max ms", function(row)
        return milliseconds(row.response_us.max)
    end },
    { "failed", function(row)
        return kinds(row.failures)
    end },
    { "verdict", function(row)
        return row.verdict
    end },
}
local RESOURCES = {
    { "children", function(row)
        return tostring(row.children)
    end },
    { "run", function(row)
        return tostring(row.running or "-")
    end },
    { "pool%", function(row)
        return percent(row.cpu.pool)
    end },
    { "web%", function(row)
        return percent(row.cpu.front)
    end },
    { "client%", function(row)
        return percent(row.cpu.client)
    end },
    { "other%", function(row)
        return percent(row.cpu.other)
    end },
    { "us/req", function(row)
        return figure(row.cpu_us.pool)
    end },
    { "MiB", function(row)
        return mebibytes(row.pss_kib)
    end },
    { "MiB/child", function(row)
        return row.pss_kib and mebibytes(row.pss_kib / row.children) or "-"
    end },
    { "vol/req", function(row)
        return figure(row.voluntary)
    end },
    { "invol/req", function(row)
        return figure(row.involuntary)
    end },
    { "queue", function(row)
        return row.queue_max and tostring(row.queue_max) or "-"
    end },
    { "drops", function(row)
        return tostring(row.drops or 0)
    end },
    { "new", function(row)
        return tostring(row.respawns or 0)
    end },
}

tune_text.legend = {
    "rate = right answers per second, mean of the rounds with its 95 % interval; bound = min(children / time held, "
        .. "cores / CPU, clients / time)",
    "run = children that ran; pool%, web%, client%, other% = processors kept busy, 100 = one (other: programs that do "
        .. "not belong to the measurement)",
    "us/req = CPU of the pool per answer; MiB = PSS of the pool",
    "vol, invol = context switches of the pool per answer; queue = most connections that waited; drops = TcpExt "
        .. "ListenDrops; new = children replaced",
    "^ too few answers for a 99th percentile: the longest",
    "* the clients that waited did not fit into the measurement: clients / rate (Little's law)",
}

local function cells(columns, rows)
    local lines = { {} }
    for column, spec in ipairs(columns) do
        lines[1][column] = spec[1]
        for i, row in ipairs(rows) do
            lines[i + 1] = lines[i + 1] or {}
            lines[i + 1][column] = spec[2](row)
        end
    end
    return lines
end

-- The table as aligned text; the recommended row is marked.
local function table_text(columns, rows, chosen)
    local lines, widths, out = cells(columns, rows), {}, {}
    for _, line in ipairs(lines) do
        for column, cell in ipairs(line) do
            widths[column] = math.max(widths[column] or 0, #cell)
        end
    end
    for i, line in ipairs(lines) do
        local parts = {}
        for column, cell in ipairs(line) do
            local last = columns[column][1] == "verdict"
            parts[column] = last and cell or (" "):rep(widths[column] - #cell) .. cell
        end
        local mark = rows[i - 1] and rows[i - 1].children == chosen and "> " or "  "
        out[i] = mark .. table.concat(parts, "  ")
    end
    return table.concat(out, "\n")
end

-- --- words ---------------------------------------------------------------------------------

local function goals_text(goals)
    local list = {}
    if goals.rate_per_s then
        list[#list + 1] = ("%s requests/s"):format(figure(goals.rate_per_s))
    end
    if goals.p99_us then
        list[#list + 1] = ("p99 <= %s ms"):format(milliseconds(goals.p99_us))
    end
    if goals.memory_kib then
        list[#list + 1] = ("%s MiB of memory%s"):format(mebibytes(goals.memory_kib), goals.memory_given and ""
            or " (85 % of what is free)")
    end
    return table.concat(list, ", ")
end

local function fit_text(fit)
    local lines = {}
    local law, bound = fit.usl, fit.bound
    if law then
        lines[#lines + 1] = ("scalability law: lambda %s/s, sigma %.4f, kappa %.2e, R2 %.4f%s"):format(figure(law.lambda),
            law.sigma, law.kappa, law.r2 or 0, law.peak_n and law.peak_n <= 2 * law.largest_n
                and (", peak at %s children"):format(figure(law.peak_n)) or ", no peak within the sweep")
    elseif fit.usl_reason then
        lines[#lines + 1] = "scalability law: " .. fit.usl_reason
    end
    if bound then
        local plateau = bound.plateau_per_s
        lines[#lines + 1] = ("two-resource bound: %s s per request and child, %s, R2 %.4f"):format(
            ("%.4g"):format(bound.seconds_per_request), plateau and plateau < 1e300 and ("plateau %s/s from %s children"):format(
                figure(plateau), figure(bound.knee)) or "no plateau reached", bound.r2 or 0)
    end
    if fit.better then
        lines[#lines + 1] = "fits better: " .. (fit.better == "usl" and "the scalability law" or "the two-resource bound")
    end
    return lines
end

local function capacity_text(capacity)
    local lines = { ("%8s %12s %7s %9s %12s %12s"):format("load", "requests/s", "hosts", "children", "pools MiB", "connections") }
    for _, line in ipairs(capacity) do
        lines[#lines + 1] = ("%7dx %12s %7d %9d %12s %12d"):format(line.times, figure(line.per_s), line.hosts, line.children,
            mebibytes(line.memory_kib), line.connections)
    end
    return lines
end

local function indented(lines, out, prefix)
    for _, line in ipairs(lines) do
        out[#out + 1] = (prefix or "  ") .. line
    end
end

-- The answer in one or two lines.
local function answer(tuning)
    local choice = tuning.recommendation
    if choice.children then
        return {
            ("RECOMMENDED: %s (%s/s, p99 %s ms)"):format(recommend.count_text(choice), figure(choice.row.rate.mean),
                milliseconds(choice.row.p99_us)),
            ("limit: %s: %s"):format(choice.binding, choice.why),
            ("confidence: %s (%s)"):format(choice.confidence, choice.confidence_why),
        }
    end
    return { "NO RECOMMENDATION: " .. choice.refused, "what helps: " .. (choice.remedy or "-") }
end

--- A finished sweep as text for the terminal.
function tune_text.text(tuning)
    if tuning.error then
        return "  cannot be measured: " .. tuning.error
    end
    local choice = tuning.recommendation
    local out = {}
    for i, columns in ipairs({ ANSWERS, RESOURCES }) do
        out[i] = table_text(columns, tuning.rows, choice and choice.children)
    end
    if not choice then
        out[#out + 1] = "  incomplete"
        return table.concat(out, "\n")
    end
    for _, mark in ipairs(tuning.marks or {}) do
        out[#out + 1] = "  note: " .. mark
    end
    out[#out + 1] = ""
    indented(answer(tuning), out)
    indented(fit_text(tuning.fit), out)
    local memory = tuning.memory
    if memory then
        out[#out + 1] = ("  memory: %s MiB + %s MiB per child%s"):format(mebibytes(memory.base_kib),
            mebibytes(memory.per_child_kib), memory.cap and ("; the goal allows %d children"):format(memory.cap) or "")
    end
    out[#out + 1] = ("  noise: %.1f %% between equals (%d A/A pairs); goals: %s"):format(tuning.noise * 100, tuning.noise_pairs,
        goals_text(tuning.goals))
    if choice.children then
        out[#out + 1] = "  lines to paste:"
        indented(tuning.lines, out, "    ")
        out[#out + 1] = "  on paper, hosts at 70 % of their best rate:"
        indented(capacity_text(tuning.capacity), out, "  ")
    end
    return table.concat(out, "\n")
end

-- --- lines to paste ---------------------------------------------------------------------------

--- Configuration for <children>. <place>: {somaxconn, front_workers, blocks (one connection per
-- child), kind (of the pool that was measured), config_lines (of the user's file, with {children})}.
-- A list of lines.
function tune_text.lines(children, tuning, place)
    local backlog = recommend.backlog(tuning.load.connections or 256, place.somaxconn)
    local keep = recommend.keepalive(children, place.front_workers, place.blocks)
    local lines = {
        ("fcgi-server:  fcgi-server -c conf/fcgi-server.lua -l unix:/run/app.sock -n %d --backlog %d"):format(children, backlog),
        ("spawn-fcgi:   spawn-fcgi -s /run/app.sock -b %d -F %d -- fcgi-server -n 0 -c conf/fcgi-server.lua"):format(backlog,
            children),
        ("php-fpm:      pm = static; pm.max_children = %d; listen.backlog = %d"):format(children, backlog),
        ("php-cgi:      PHP_FCGI_CHILDREN=%d spawn-fcgi -s /run/app.sock -b %d -F 1 -- php-cgi"):format(children, backlog),
    }
    if place.kind == "command" then
        lines = { "yours:        " .. tuning.pool:gsub("{children}", children) }
        for _, line in ipairs(place.config_lines or {}) do
            lines[#lines + 1] = "              {config}: " .. line:gsub("{children}", children)
        end
    end
    if keep > 0 then
        lines[#lines + 1] = ("nginx:        upstream app { server unix:/run/app.sock; keepalive %d; }  fastcgi_keep_conn on;"):format(keep)
        lines[#lines + 1] = place.blocks
            and ("              (worker_processes %d x keepalive %d < %d children: an idle connection may hold one)"):format(
                place.front_workers, keep, children) or "              (idle connections hold no child of this pool)"
    else
        lines[#lines + 1] = "nginx:        no keepalive to this pool: a kept connection would hold its only child"
    end
    lines[#lines + 1] = ("              listen 80 backlog=%d;  (net.core.somaxconn is %d: larger values are cut)"):format(backlog,
        place.somaxconn)
    return lines
end

-- --- the plot's data -----------------------------------------------------------------------------

--- Curves over the count, for drawing: {usl = list of {n, per_s}, bound = same (fitted), predicted}.
function tune_text.curves(tuning)
    local rows, fit = tuning.rows, tuning.fit or {}
    local first, last = rows[1] and rows[1].children, rows[#rows] and rows[#rows].children
    local curves = { usl = {}, bound = {}, predicted = {} }
    if not first then
        return curves
    end
    local steps = 60
    for i = 0, steps do
        local n = first * (last / first) ^ (i / steps)
        if fit.usl then
            table.insert(curves.usl, { n = n, per_s = usl.curve(fit.usl, n) })
        end
        if fit.bound then
            table.insert(curves.bound, { n = n, per_s = usl.bound_curve(fit.bound, n) })
        end
        if tuning.need then
            table.insert(curves.predicted, { n = n, per_s = usl.bound(tuning.need, n).per_s })
        end
    end
    return curves
end

-- --- report.md --------------------------------------------------------------------------------------

local function markdown_table(columns, rows, chosen)
    local out = {}
    for i, line in ipairs(cells(columns, rows)) do
        if rows[i - 1] and rows[i - 1].children == chosen then
            line[1] = "**" .. line[1] .. "**"
        end
        out[#out + 1] = "| " .. table.concat(line, " | ") .. " |"
        if i == 1 then
                out[#out + 1] = "|" .. ("--:|"):rep(#line)
        end
    end
    return table.concat(out, "\n")
end

local function section(tuning, out)
    local function add(...)
        out[#out + 1] = string.format(...)
    end
    add("## %s\n", tuning.name)
    if tuning.error then
        add("Could not be measured: %s\n", tuning.error)
        return
    end
    local choice = tuning.recommendation
    for _, mark in ipairs(tuning.marks or {}) do
        add("> note: %s\n", mark)
    end
    if choice then
        out[#out + 1] = "- " .. table.concat(answer(tuning), "\n- ")
        out[#out + 1] = "- " .. table.concat(fit_text(tuning.fit), "\n- ") .. "\n"
    else
        add("**Incomplete**: interrupted after %d measurements.\n", #tuning.order)
    end
    add("Load: %s; goals: %s; page alone: %s ms.\n", tuning.load.rate_per_s and figure(tuning.load.rate_per_s) .. " requests/s"
        or tuning.load.connections .. " clients", goals_text(tuning.goals), tuning.base and milliseconds(
            tuning.base.response_s * 1e6) or "-")
    for _, columns in ipairs({ ANSWERS, RESOURCES }) do
        out[#out + 1] = markdown_table(columns, tuning.rows, choice and choice.children) .. "\n"
    end
    if choice and choice.children then
        out[#out + 1] = "Lines to paste:\n\n```\n" .. table.concat(tuning.lines, "\n") .. "\n```\n"
        out[#out + 1] = "On paper:\n\n```\n" .. table.concat(capacity_text(tuning.capacity), "\n") .. "\n```\n"
    end
    if tuning.commands then
        out[#out + 1] = "Commands of the last pool:\n\n```\n" .. table.concat(tuning.commands, "\n") .. "\n```\n"
    end
end

--- report.md of a tuning run.
function tune_text.markdown(record)
    local facts = record.machine or {}
    local head = ("%s, %s, %s; `%s`\n"):format(facts.cpu or "unknown processor", format.processors(facts),
        facts.kernel or "", record.command or "")
    local out = { "# Number of children\n", (record.complete and "" or "**Incomplete.** ") .. head }
    for _, tuning in ipairs(record.tunings) do
        section(tuning, out)
    end
    out[#out + 1] = "## Columns\n\n- " .. table.concat(tune_text.legend, "\n- ") .. "\n"
    out[#out + 1] = "## Assumptions of the paper capacity\n\n- " .. table.concat(recommend.assumptions, "\n- ") .. "\n"
    return table.concat(out, "\n")
end

--- Writes the reports of <record> into <folder>.
function tune_text.write(record, folder)
    files.write(folder .. "/report.md", tune_text.markdown(record))
    files.write(folder .. "/report.html", require("bench.suite.tune.tune_html").render(record))
end

return tune_text
