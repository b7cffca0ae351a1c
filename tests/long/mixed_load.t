#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Mixed load while the operator is busy: quick and slow pages, C and Lua, GET and POST, kept and fresh
-- connections, through an nginx that repeats nothing; reloads, resizes and log reopening at random.
-- No request is lost. MIXED_S seconds (60); SEED repeats the order of events.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process
t.need("nginx")

local SECONDS = tonumber(os.getenv("MIXED_S") or (os.getenv("SHORT") and 10 or 60))
local SEED = tonumber(os.getenv("SEED") or os.time() % 1e6)
local CHILDREN, RANGE = 6, 3

math.randomseed(SEED)
local log, access_log = t.dir .. "/server.log", t.dir .. "/access.log"
local server = t.server.start {
    children = CHILDREN, routes = { "/body=" .. t.fixture("body.so") },
    arguments = { "--log", log, "--access-log", access_log, "--backlog", "1024" },
}
local fronts = {
    kept = t.front.nginx { fcgi = server.address, keepalive = 8, workers = 2 },
    fresh = t.front.nginx { fcgi = server.address },
}
local mixture, body = t.dir .. "/requests", t.dir .. "/body"
process.write_file(mixture, table.concat {
    "10 /echo\n", "10 /hello?name=mixed\n", "10 /lua/hello?name=mixed\n", "3 /table\n", "3 /lua/table\n",
    "2 /sleep?ms=40\n", "2 /lua/sleep?ms=40\n", "2 /lua/globals\n",
})
process.write_file(body, ("body "):rep(3000))

local clients = {}
local function client(name, ...)
    local out = t.dir .. "/" .. name
    clients[#clients + 1] = { name = name, out = out, pid = process.spawn {
        load.program, "-q", "-f", "json", "-d", SECONDS .. "s", "-R", "100", "-c", 8, "-l", stdout = out, ...,
    } }
end
for name, front in pairs(fronts) do
    client(name .. ", pages", "-k", "--requests-file", mixture, front.url .. "/")
    client(name .. ", a connection for each request", "--requests-file", mixture, front.url .. "/")
    client(name .. ", posts", "-k", "-p", body, front.url .. "/body")
end

local events, size = { HUP = 0, TTIN = 0, TTOU = 0, USR1 = 0 }, 0
local names = { "HUP", "TTIN", "TTOU", "USR1", "TTIN", "TTOU", "USR1" }
local limit = t.now() + SECONDS
while t.now() < limit do
    local name = names[math.random(#names)]
    local step = name == "TTIN" and 1 or name == "TTOU" and -1 or 0
    if math.abs(size + step) <= RANGE then
        size = name == "HUP" and 0 or size + step -- a reload goes back to the configured count
        if name == "USR1" then
            os.rename(access_log, access_log .. ".1")
        end
        server:signal(name)
        events[name] = events[name] + 1
    end
    process.pause(0.1 + math.random() * 0.7)
end
for _, one in ipairs(clients) do
    process.wait(one.pid, 30)
    local good, report = pcall(require("cjson").decode, process.read_file(one.out) or "")
    t.ok(good and report.requests.failed == 0 and report.requests.ok > SECONDS * 20, one.name .. ": no request is lost",
        good and load.summary(report, { err = "" }) or "no report")
end
t.note(("%d s, %d reloads, %d resizes, %d log reopenings, seed %d"):format(SECONDS, events.HUP, events.TTIN + events.TTOU,
    events.USR1, SEED))
for _, front in pairs(fronts) do
    front:stop()
end
server:stop()
t.done()
