#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Reports are rendered from results alone, whole or broken off, and every text in them is escaped.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local cjson = require("cjson")
local documents = require("bench.suite.run.documents")
local format = require("bench.suite.report.format")
local html = require("bench.suite.report.report_html")
local markdown = require("bench.suite.report.report_markdown")
local story = require("bench.suite.report.story")
local svg = require("bench.suite.report.svg")
local synthetic = require("synthetic")

-- Numbers.
t.is(format.number(1234567), "1,234,567", "thousands are separated")
t.is(format.number(999), "999", "three digits are not")
t.is(format.number(-1234), "-1,234", "negative numbers")
t.is(format.number(nil), "\226\128\147", "nothing is a dash")
t.is(format.us(1500), "1.5 ms", "microseconds get a unit that fits")
t.is(format.us(2999746), "3 s", "up to seconds")
t.is(format.percent(0.0003), "< 0.1 %", "small shares are not 0")
t.is(format.published_failures({ requests = 50, failed = 32, failed_kind = "length", non_2xx = 32 }),
    "32 failed (length), 32 not 2xx of 50",
    "published failures with their kind")

-- Axes.
t.is(table.concat(svg.ticks(17400, 4), " "), "0 5000 10000 15000 20000", "round ticks that cover the highest value")
t.is(table.concat(svg.ticks(1, 4), " "), "0 0.25 0.5 0.75 1", "and for small ones")
t.is(#svg.ticks(0), 2, "no values, still an axis")
local log = svg.log_ticks(300, 40000)
t.ok(log[1] <= 300 and log[#log] >= 40000, "a logarithmic axis covers its values")
local spread = svg.spread({ { y = 10 }, { y = 11 }, { y = 12 }, { y = 200 } }, 15, 0, 300)
local apart = true
for i = 2, #spread do
    apart = apart and spread[i].at - spread[i - 1].at >= 15
end
t.ok(apart, "labels do not overlap")
t.is(svg.escape('<a b="&">'), "&lt;a b=&quot;&amp;&quot;&gt;", "markup is escaped")

-- The whole report.
local record = synthetic.results(documents.select(nil, t.root .. "/bench/documents"))
local page, text = html.render(record), markdown.render(record)
for _, document in ipairs(record.documents) do
    local heads = {}
    for i, line in ipairs(story.lines(document)) do
        heads[i] = line.head
    end
    t.is(table.concat(heads, ", "), "Question, Published, Measured here, Verdict, Advice", document.name .. ": the heads of a paper")
    t.ok(page:find('id="' .. document.name .. '"', 1, true) and text:find(document.title, 1, true), document.name
        .. " is in both reports")
end
t.ok(not page:find("https?://[^1%s\"<]") or not page:find('src="http') and not page:find('href="http'), "the page fetches nothing")
local _, drawings = page:gsub("<svg ", "")
t.ok(drawings >= 40, ("the page has its drawings (%d)"):format(drawings))
t.ok(not page:find("nan") and not page:find("%f[%w]inf%f[%W]"), "no nan, no infinity")
for _, wanted in ipairs({ "12.93×", "2,199", "32,628/s", "artefact of the measurement", "correct answers per second" }) do
    t.ok(page:find(wanted, 1, true), "the page shows " .. wanted)
end
t.ok(text:find("| 12.93× |", 1, true), "report.md has published ratios")

-- Every arm's figures stand in a table too.
local missing = {}
for _, document in ipairs(record.documents) do
    for _, part in ipairs(document.parts) do
        for _, arm in ipairs(part.arms or {}) do
            if not page:find("<td>" .. svg.escape(arm.key) .. "</td>", 1, true) then
                missing[#missing + 1] = arm.key
            end
        end
    end
end
t.is(#missing, 0, "every arm is a row of a table")

-- Every figure that is declared for a table stands in it, once.
local figures = require("bench.suite.analysis.figures")
local tables = require("bench.suite.report.tables")
local part = record.documents[2].parts[1]
for name, build in pairs({ rates = tables.rates, short = tables.short, resources = tables.resources, slots = tables.slots,
    terminal = tables.terminal }) do
    local heads = {}
    for _, head in ipairs(build(part).head) do
        heads[head.text] = (heads[head.text] or 0) + 1
    end
    for _, figure in ipairs(figures.of_table(figures.slot, name)) do
        t.is(heads[figure.head], 1, ("%s is a column of the table %s"):format(figure.key, name))
    end
    t.is(heads.variant, 1, name .. " names the variant")
end
local lines = tables.lines(tables.build({ { head = "a", left = true, cell = function(row)
    return row[1]
end }, { head = "bb", cell = function(row)
    return row[2]
end }, { head = "empty", cell = function()
    return nil
end } }, { { "x", "1\194\181s" }, { "yyy", "22" } }))
t.is(table.concat(lines, "|"), "  a     bb|  x    1\194\181s|  yyy   22", "columns of the terminal are aligned, empty ones are left out")

-- Doubts: what all share is said once, the others have numbers.
local doubts = require("bench.suite.report.doubts")
local shared = { arms = { { key = "a", summary = { marks = { "3 of 5 slots doubted", "only a" } } },
    { key = "b", summary = { marks = { "1 of 5 slots doubted" } } } } }
local list, numbers = doubts.of(shared)
t.is(#list, 2, "two kinds of doubt")
t.is(doubts.line(list[1]), "All rows: 3 of 5 slots doubted.", "one that all share is said once")
t.is(doubts.line(list[2]) .. (numbers.a or "") .. (numbers.b or ""), "1. only a. (a)1", "one of a single row has a number")

-- A report of one's own is about one's own.
local function own_record(rounds)
    local own = documents.check({ name = "mine", title = "Mine against nginx-lua", comparisons = { { name = "json", title = "JSON",
        page = "echo", load = { connections = 20 }, arms = { { url = "http://127.0.0.1:8080/", label = "mine" },
            { stack = "nginx-lua", tuned = true } }, claims = { { faster = "nginx-lua", slower = "mine" } } } } }, "mine.lua")
    return synthetic.results({ own }, { rounds = rounds })
end
local own = own_record(5)
local own_page, own_text = html.render(own), markdown.render(own)
for name, text_of in pairs({ html = own_page:gsub("<style>.-</style>", ""):gsub("class=\"?then[^>]*", ""), markdown = own_text }) do
    t.ok(text_of:find("Mine against nginx-lua", 1, true), name .. ": its own title")
    t.ok(not text_of:lower():find("publish", 1, true), name .. ": no word of published figures")
    t.ok(text_of:find("confirmed", 1, true), name .. ": the claim about a tuned arm is judged")
    t.ok(text_of:find("as found", 1, true) and text_of:find("tuned", 1, true), name .. ": the variants stand in it")
    t.ok(not text_of:find("Smoke test", 1, true), name .. ": five rounds are no smoke test")
end
local smoke = own_record(2)
for name, text_of in pairs({ html = html.render(smoke), markdown = markdown.render(smoke) }) do
    t.like(text_of, "Smoke test: 2 rounds, too few for a verdict", name .. ": a smoke test says so")
    t.ok(not text_of:find("confirmed", 1, true), name .. ": and has no verdict")
end
t.ok(not markdown.render(smoke):find("%*%*no verdict"), "no bold word for it")

-- Hostile texts and broken-off runs.
record.documents[1].title = "<script>alert(1)</script>"
record.documents[2].parts[1].arms[1].reason, record.documents[2].parts[1].arms[1].summary = "<b>x</b> & y", nil
record.complete, record.interrupted = false, "INT"
for _, document in ipairs(record.documents) do
    for i = #document.parts, 3, -1 do
        document.parts[i] = nil
    end
end
local back = cjson.decode(cjson.encode(record))
page, text = html.render(back), markdown.render(back)
t.ok(not page:find("<script>alert", 1, true), "a title cannot bring in a script")
t.ok(page:find("&lt;b&gt;x", 1, true), "nor a reason markup")
t.like(page, "Incomplete %(interrupted by INT%)", "a broken-off run says so")
t.like(text, "incomplete", "in report.md as well")
local empty = { schema = record.schema, started = "2026-01-01T00:00:00Z", profile = "default", complete = false, marks = {},
    machine = record.machine, documents = {} }
t.ok(html.render(empty) and markdown.render(empty), "a run that measured nothing still has a report")

t.done()
