#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- report.html in a real browser: no error in its console, its plots are there, nothing is fetched.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
t.need("chromium")
local documents = require("bench.suite.run.documents")
local html = require("bench.suite.report.report_html")
local synthetic = require("synthetic")

local record = synthetic.results(documents.select(nil, t.root .. "/bench/documents"))
t.write_file(t.dir .. "/report.html", html.render(record))

local result = t.process.run {
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="
        .. t.dir .. "/profile",
    "--enable-logging=stderr", "--log-net-log=" .. t.dir .. "/net.json", "--window-size=390,844", "--dump-dom",
    "file://" .. t.dir .. "/report.html", timeout = 50, env = { HOME = t.dir },
}
t.is(result.status, 0, "the browser shows the page")
local console = {}
for line in result.err:gmatch("[^\n]*CONSOLE[^\n]*") do
    console[#console + 1] = line
end
t.is(table.concat(console, "\n"), "", "its console is silent")
local _, drawings = result.out:gsub("<svg ", "")
t.ok(drawings >= 40, ("the plots are there (%d)"):format(drawings))
local _, paths = result.out:gsub("<path ", "")
t.ok(paths > 100, ("and have curves (%d)"):format(paths))

-- The browser itself calls its maker; the page's own policy forbids all else, and this would show it.
local fetched = {}
for url in (t.read_file(t.dir .. "/net.json") or ""):gmatch('"url":"(https?://[^"]*)"') do
    local host = url:match("^https?://([^/:]+)")
    if not host:match("google%.com$") and not host:match("googleapis%.com$") and not host:match("gstatic%.com$") then
        fetched[#fetched + 1] = url
    end
end
t.is(table.concat(fetched, " "), "", "nothing is fetched")
t.like(result.out, "default%-src 'none'", "the page itself forbids it")

t.done()
