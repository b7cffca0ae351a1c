#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- bench run, end to end: a document of the user's own, measured, judged, reported, rendered again.
-- What is wrong is reported and does not stop the rest.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
t.need("nginx")
local cjson = require("cjson")

-- Blanks and letters beyond ASCII in every path.
local folder = t.dir .. "/own b\195\164nch"
t.process.run { "mkdir", "-p", folder }
local bench = t.root .. "/bench/bench"

local function run(arguments, timeout)
    local command = { bench, timeout = timeout or 50, env = { BUILD = t.build, DOCS = false, PROFILE = false, RESULTS = false } }
    for _, word in ipairs(arguments) do
        command[#command + 1] = word
    end
    return t.process.run(command)
end

-- An application of the user's own, already running: here the scripted one is nginx by hand.
local own = assert(require("bench.suite.bring_up.stack").up("nginx-return", { variant = "tuned" }))

t.write_file(folder .. "/broken.lua", [[
return { title = "ends at once", needs = {}, pages = { echo = "/" },
    build = function(s) return { s:program({ name = "false", argv = { "/bin/false" } }) } end }
]])
t.write_file(folder .. "/mine.lua", ([[
return {
    name = "mine", title = "Mine <against> the shipped", year = 2026, reading = "Mine is faster.",
    comparisons = {
        { name = "hello", title = "hello", page = "echo", load = { connections = 4 }, measure = { requests = 300, timeout_s = 10 },
          expect = { status = 200, bytes = 12, body = "hello world\n" },
          arms = {
              { stack = "nginx-fcgi-c", documented = { children = 2 }, published = { rate_per_s = 100, requests = 100, failed = 0,
                  non_2xx = 0 } },
              { stack = "nginx-lua", published = { rate_per_s = 50, requests = 100, failed = 0, non_2xx = 60 } },
              { url = "%s%s", label = "my own" },
              { stack = "%s/broken.lua", label = "broken" },
          },
          claims = { { faster = "nginx-fcgi-c", slower = "nginx-lua" } } },
        { name = "wrong", page = "echo", expect = { bytes = 13 }, arms = { { stack = "nginx-fcgi-c", documented = { children = 2 } } } },
    },
}
]]):format(own.url, own.pages.echo, folder))

local result = run { "run", "-p", "quick", "--slot", "0.15", "--no-experiments", "--plain", "-o", folder .. "/results", folder
    .. "/mine.lua" }
t.is(result.status, 3, "a stack that fails and a wrong page end in exit code 3")
local latest = folder .. "/results/latest"
local record = cjson.decode(t.read_file(latest .. "/results.json") or "{}")
t.is(record.schema, "backend-testbed-results/1", "results/latest has results with their schema")
t.is(record.complete, true, "the run is complete all the same")

local hello, wrong = record.documents[1].parts[1], record.documents[1].parts[2]
local arms = {}
for _, arm in ipairs(hello.arms) do
    arms[arm.key] = arm
end
for _, key in ipairs { "nginx-fcgi-c", "nginx-lua", "my own" } do
    local arm = arms[key]
    t.is(arm.state, "measured", key .. ": measured")
    t.ok(arm.verified and arm.verified.ok, key .. ": its page was verified")
    t.ok(arm.summary and arm.summary.ok_per_s.median > 0, key .. ": has a rate")
    for _, slot in ipairs(arm.slots) do
        local requests = slot.client.requests
        t.is(requests.started, requests.ok + requests.failed + requests.in_flight, key .. ": every request is accounted for")
    end
end
t.ok(arms["nginx-fcgi-c"].summary.server_cpu_us_per_request > 0, "processor time per request is known")
t.ok(arms["nginx-fcgi-c"].memory.nginx.pss_kib > 0, "and memory per process group")
t.is(arms.broken.state, "failed", "a stack that does not come up is reported")
t.is(wrong.arms[1].state, "wrong answer", "a page of another length is not measured")
t.like(wrong.arms[1].reason, "12 bytes instead of 13", "and the difference is named")
t.is(#hello.arms[1].slots, 4, "the first stack is measured twice in each round: the A/A pair")
t.is(hello.claims[1].judgement, "artefact", "published error pages are an artefact")

local page, text = t.read_file(latest .. "/report.html"), t.read_file(latest .. "/report.md")
t.like(page, "Mine &lt;against&gt; the shipped", "report.html has the document")
t.like(text, "my own", "report.md has the user's own")
t.like(result.out, "report.html", "its path is printed")

t.process.run { "rm", latest .. "/report.html" }
t.is(run({ "report", latest }).status, 0, "report renders again")
t.is(t.read_file(latest .. "/report.html"), page, "the same page")
t.is(run({ "compare", latest, latest }).status, 0, "compared with itself: no regression")

local usage = run { "run", "-p", "hasty", folder .. "/mine.lua" }
t.is(usage.status, 1, "an unknown profile is a usage error")
t.like(usage.err, "quick", "and the profiles are named")
t.like(run({ "run", "no-such-document" }).err, "php%-node%-lua", "an unknown document: the names there are")
t.like(run({ "run", "no-such.lua" }).err, "^bench: no%-such%.lua: no such file\n", "a file that is not there, named once")
t.like(run({ "report", folder }).err, "no results here.*bench/bench run", "no results: said plainly, with the remedy")
t.is(run({ "run", "--help" }).status, 0, "every command knows --help")
t.like(run({ "compare", "--help" }).out, "usage:", "and prints the usage")
for _, words in ipairs { {}, { "sideways" }, { "list", "all" }, { "doctor", "now" }, { "compare", "one" }, { "report", "a", "b" } } do
    local wrong_use = run(words)
    t.ok(wrong_use.status == 1 and wrong_use.out == "" and select(2, wrong_use.err:gsub("\n", "")) == 2,
        ("bench/bench %s: exit code 1, the reason and where the usage is"):format(table.concat(words, " ")))
end

require("bench.suite.bring_up.stack").down(own)
t.done()
