#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Errors of every kind in a Lua handler: 500 with a neutral text, one log entry
-- with file and line, the same process serves on.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local function rss(server)
    local sum = 0
    for _, pid in ipairs(server:workers()) do
        sum = sum + (process.rss_kib(pid) or 0)
    end
    return sum
end

local function fails(server, how, in_log)
    local before = #server:log_text()
    local answer = server:get("/lua/errors?how=" .. how, { timeout = 15 })
    t.ok(answer.complete and answer.status == 500, how .. ": 500", answer.stdout:sub(1, 200))
    t.ok(#(answer.body or "") < 500 and not (answer.body or ""):find("errors%.lua"), how .. ": a neutral text",
        answer.body)
    local entry
    process.poll(2, function()
        entry = server:log_text():sub(before + 1)
        return entry:find(in_log)
    end)
    t.like(entry, in_log, how .. ": logged with file and line")
    local entries = select(2, entry:gsub("%f[%a]error%f[%A]", ""))
    t.ok(entries <= 12 and not entry:find("PANIC"), how .. ": one entry, no panic", entry)
    t.is(server:get("/lua/errors").body, "alive\n", how .. ": the next request is served")
end

t.each_engine(function(engine)
    local server = t.server.start {
        engine = engine, children = 1, routes = { "/lua/errors=" .. t.fixture("errors.lua") },
    }
    server:get("/lua/errors")
    local before = rss(server)
    fails(server, "text", "errors%.lua:%d+: a plain text")
    fails(server, "table", "errors%.lua")
    fails(server, "nil", "errors%.lua")
    fails(server, "concatenate", "errors%.lua:%d+: attempt to concatenate")
    fails(server, "recurse", "stack overflow")
    fails(server, "pattern", "errors%.lua")
    fails(server, "memory", "not enough memory")
    fails(server, "text_memory", "not enough memory")
    for _, how in ipairs { "return_nil", "return_number", "return_table" } do
        local answer = server:get("/lua/errors?how=" .. how)
        t.ok(answer.complete and answer.status ~= nil, how .. ": one whole answer", answer.stdout)
        t.note(how .. " gives " .. tostring(answer.status))
    end
    server:expect_log("errors%.lua")
    server:expect_log("stack traceback")
    server:expect_log("not enough memory")
    server:expect_log("stack overflow")
    local answer = server:get("/lua/errors?how=half")
    t.ok(not (answer.complete and answer.status == 200 and answer.app_status == 0),
        "an error half way is no complete 200", answer.stdout)
    for _, how in ipairs { "exit", "execute", "popen" } do
        answer = server:get("/lua/errors?how=" .. how)
        t.ok(answer.complete and answer.status == 500, how .. " is neutralised: 500", answer.stdout)
    end
    server:get("/lua/errors?how=global")
    server:unchanged("the same process as before", { log = { "os%.", "io%.", "global", "exit" } })
    collectgarbage()
    local grown = rss(server) - before
    t.ok(grown < 150 * 1024, "memory is near its start", grown .. " KiB more")
    server:stop()
end)
t.done()
