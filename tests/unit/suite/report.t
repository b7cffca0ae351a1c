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
    t.is(#story.lines(document), 5, document.name .. ": a story in five lines")
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
