#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- What dies while it is measured is failed: the pool of a shipped stack, and a server at an address of
-- the user's own. The others are measured to the end. And what cannot be written is an error at once.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
t.need("nginx")
local cjson = require("cjson")
local stack = require("bench.suite.bring_up.stack")

local bench, env = t.root .. "/bench/bench", { BUILD = t.build, DOCS = false, PROFILE = false, RESULTS = false, TMPDIR = t.dir }

local function run(arguments)
    local command = { bench, timeout = 50, env = env }
    for _, word in ipairs(arguments) do
        command[#command + 1] = word
    end
    return t.process.run(command)
end

local own = assert(stack.up("nginx-return", { variant = "tuned" }))
local port = own.url:match(":(%d+)$")
t.write_file(t.dir .. "/mine.lua", ([[
return { name = "mine", comparisons = { {
    name = "hello", page = "echo", load = { connections = 4 }, expect = { bytes = 12 },
    arms = { { url = "http://localhost:%s%s", label = "mine" }, { stack = "nginx-fcgi-c", documented = { children = 2 } },
        { stack = "nginx-libfcgi-loop", documented = { children = 2 } } },
    claims = { { faster = "mine", slower = "nginx-fcgi-c" } } } } }
]]):format(port, own.pages.echo))
t.case("died while measured", function()
    local out = t.dir .. "/out"
    local pid = t.process.spawn { bench, "run", "-p", "quick", "--slot", "0.4", "--rounds", "6", "--plain", "-o", t.dir .. "/results",
        t.dir .. "/mine.lua", stdout = out, stderr = out, own_group = true, env = env }
    local victim
    t.poll(30, function()
        local measuring = false
        for _, child in ipairs(t.process.descendants(pid)) do
            local command = t.process.command(child) or ""
            measuring = measuring or command:find("load%-client .*400ms") ~= nil
            if command:find("fcgi%-server") and not command:find("nginx") then
                victim = math.min(victim or child, child)
            end
        end
        return measuring and victim
    end)
    t.ok(victim, "the pool is found while the load runs")
    t.poll(1.3, function() end)
    t.process.kill(victim, "KILL")
    t.poll(0.5, function() end)
    stack.down(own)
    local how, code = t.process.finish(pid, "CONT", 50)
    t.ok(how == "exited" and code == 3, ("exit code 3 (%s %s)"):format(tostring(how), tostring(code)))
    local record = cjson.decode(t.read_file(t.dir .. "/results/latest/results.json") or "{}")
    local part, arms = record.documents[1].parts[1], {}
    for _, arm in ipairs(part.arms) do
        arms[arm.key] = arm
    end
    for key, reason in pairs({ ["nginx-fcgi-c"] = "ended by itself %(", mine = "does not answer any more" }) do
        t.is(arms[key].state, "failed", key .. ": failed")
        t.like(arms[key].reason, reason, key .. ": the reason is named")
        t.like(arms[key].reason, "ended [ab]%a+ [%a ]*round", key .. ": and the round")
        t.ok(#arms[key].slots < 6, key .. ": is not measured any more")
    end
    t.is(arms["nginx-libfcgi-loop"].state, "measured", "the third is measured to the end")
    t.is(part.rounds, 6, "in all rounds")
    t.is(part.claims[1].judgement, "failed", "the claim is not decided")
    t.ok(not part.claims[1].pair or not part.claims[1].pair.ratio, "no ratio is formed from the rounds before")
    for _, name in ipairs { "report.html", "report.md" } do
        t.like(t.read_file(t.dir .. "/results/latest/" .. name), "ended [ab]%a+ [%a ]*round", name .. " says so")
    end
    t.like(t.read_file(out), "failed: ended [ab]%a+ [%a ]*round", "the terminal says so")
end)

t.case("addresses", function()
    for _, url in ipairs { "https://localhost/", "localhost:80/", "http://:80/", "http://[::1/", "http://h:99999/" } do
        t.write_file(t.dir .. "/bad.lua", ('return { name = "m", comparisons = { { name = "c", path = "/", arms = { { url = %q } } } } }'):format(url))
        local result = run { "run", t.dir .. "/bad.lua" }
        t.ok(result.status == 1 and result.err:find("expected http://host[:port]/path", 1, true), url .. ": refused at once, with the form",
            result.err)
    end
    local http = require("bench.suite.system.http")
    for url, wanted in pairs({ ["http://localhost/a?b"] = "http://localhost:80 /a?b", ["http://[::1]:8080"] = "http://[::1]:8080 nil",
        ["http://10.0.0.1:81?x=1"] = "http://10.0.0.1:81 /?x=1" }) do
        local parts = http.split(url)
        t.is(parts.base .. " " .. tostring(parts.path), wanted, url)
    end
end)

t.case("what cannot be written", function()
    local full = t.process.run { "sh", "-c", ("exec %q list >/dev/full"):format(bench), env = env, timeout = 20 }
    t.is(full.status, 111, "a list that does not arrive")
    t.like(full.err, "standard output cannot be written", "and why")
    t.write_file(t.dir .. "/file", "")
    local began = t.now()
    local result = run { "run", "-p", "quick", "-o", t.dir .. "/file/results", t.dir .. "/mine.lua" }
    t.ok(result.status ~= 0 and result.err:find("cannot make the results folder", 1, true), "a folder that cannot be made", result.err)
    t.ok(t.now() - began < 10, "at once, before anything is measured")
end)

t.done()
