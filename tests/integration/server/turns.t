#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- While more work waits than a child can do, kept connections and new ones get their
-- turns: neither has all of them. What is compared are numbers of answers in the same
-- time, so that a slow machine makes no difference.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local cjson = require("cjson")
local load, process = t.load, t.process

-- Runs both loads for the same time. Returns their reports.
local function side_by_side(server, path)
    local reports, pids = {}, {}
    for index, words in ipairs { { "-k", "-c", "5" }, { "-c", "10" } } do
        local command = { load.program, "-q", "-f", "json", "-d", "1500ms", "-o", t.dir .. "/report" .. index }
        for _, word in ipairs(words) do
            command[#command + 1] = word
        end
        command[#command + 1] = "fcgi+" .. server.address .. ":" .. path
        pids[index] = process.spawn(command)
    end
    for index, pid in ipairs(pids) do
        process.wait(pid, 30)
        local text = process.read_file(t.dir .. "/report" .. index) or "{}"
        reports[index] = cjson.decode(text).requests or { ok = 0, failed = -1 }
    end
    return unpack(reports)
end

local settings = {
    { name = "handlers of 3 ms, one child", path = "/sleep?ms=3", children = 1 },
    { name = "handlers of 3 ms, no master", path = "/sleep?ms=3", launch = "direct" },
    { name = "one waiting request at a time", path = "/lua/sleep?ms=3", children = 1, limit = true },
    { name = "one waiting request at a time, no master", path = "/lua/sleep?ms=3", launch = "direct", limit = true },
}

for _, setting in ipairs(settings) do
    local server = t.server.start {
        engine = "event", children = setting.children, launch = setting.launch,
        arguments = setting.limit and { "--requests-max", "1" } or {},
    }
    local kept, fresh = side_by_side(server, setting.path)
    local figures = ("kept %d, new %d answers"):format(kept.ok, fresh.ok)
    t.ok(kept.failed == 0 and fresh.failed == 0, setting.name .. ": nothing fails", figures)
    t.ok(kept.ok * 8 > fresh.ok, setting.name .. ": kept connections have turns", figures)
    t.ok(fresh.ok * 8 > kept.ok, setting.name .. ": new ones have turns", figures)
    t.note(setting.name .. ": " .. figures)
    server:stop()
end

-- A kept connection that had been idle for most of keep_timeout sends its request while
-- the child is full: what counts from then on is how long the request waits.
local server = t.server.start {
    engine = "event", launch = "direct", arguments = { "--requests-max", "1", "--keep-timeout", "4s" },
}
local kept, other = t.fcgi.connect(server.address), t.fcgi.connect(server.address)
kept:send(t.fcgi.request { path = "/echo", keep = true })
t.is(kept:answer(1, 5).status, 200, "a kept connection")
process.pause(2.8)
other:send(t.fcgi.request { path = "/lua/sleep?ms=2000" })
process.pause(0.1)
kept:send(t.fcgi.request { path = "/echo", keep = true })
t.is(kept:answer(1, 5).status, 200, "is not closed as idle while its request waits for room")
t.done()
