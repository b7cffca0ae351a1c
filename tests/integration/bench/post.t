#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A comparison whose requests send a body: it is verified with that body and measured with it.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local cjson = require("cjson")
local http = require("bench.suite.system.http")
local measure = require("bench.suite.measurement.measure")

local BYTES = 100000
local server = t.server.start { children = 2, routes = { "/body=" .. t.fixture("body.so") } }
local web = t.front.nginx { fcgi = server.address }

local answer = http.get(web.url, "/body", 5, nil, measure.body(BYTES)) or { body = "" }
t.ok(answer.body == measure.body(BYTES), "a POST of the suite's own", #answer.body .. " bytes came back")
t.is(http.get(web.url, "/body?method=1", 5, nil, "").body, "POST\n", "also of an empty body")
t.is(http.get(web.url, "/body?method=1", 5).body, "GET\n", "without a body it is a GET")

-- The handler counts what arrives: a request without its body would be a wrong answer.
local document = t.write_file(t.dir .. "/posted.lua", ([[
return { name = "posted", comparisons = { { name = "upload", path = "/body?count=1",
    expect = { status = 200, body = "%d\n", bytes = 7 }, load = { connections = 2, keep_alive = true, post_bytes = %d },
    arms = { { url = "%s/body?count=1", label = "counted" } } } } }]]):format(BYTES, BYTES, web.url))
local run = t.process.run { "luajit", t.root .. "/bench/bench", "run", "-p", "quick", "--slot", "0.2", "--plain", "-o", t.dir .. "/results",
    document, timeout = 60, env = { BUILD = t.build, TMPDIR = t.dir, RESULTS = t.dir } }
t.is(run.status, 0, "a run")
local arm = cjson.decode(t.read_file(t.dir .. "/results/latest/results.json") or "{}").documents[1].parts[1].arms[1]
t.is(arm.state, "measured", "is measured")
for i, slot in ipairs(arm.slots) do
    t.ok(slot.client.requests.ok > 0 and slot.client.requests.failed == 0, ("slot %d: all requests were answered as expected"):format(i))
end

web:stop()
server:unchanged("the server afterwards", { fd_s = 5 })
t.done()
