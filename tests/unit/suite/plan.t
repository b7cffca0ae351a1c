#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The documents are whole and honest, and a plan fits them into its budget.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local documents = require("bench.suite.run.documents")
local plan = require("bench.suite.run.plan")

local all = documents.select(nil, t.root .. "/bench/documents")
t.is(#all, 5, "five published comparisons are a run without names")
t.is(table.concat(documents.names(), " "), "v8cgi-mod_php php-node-lua wsgi-fastcgi apache-nginx livecode fronts",
    "and one more is shipped, to be run by its name")
local fronts = documents.load("fronts", t.root .. "/bench/documents")
local stacks, arms = {}, 0
for _, comparison in ipairs(fronts.comparisons) do
    for _, arm in ipairs(comparison.arms) do
        stacks[arm.stack], arms = true, arms + 1
        t.ok(comparison.load.keep_alive and arm.why, ("%s, %s: settings are told"):format(comparison.name, arm.label))
    end
end
for _, name in ipairs { "nginx-fcgi-c", "apache-fcgi-c", "lighttpd-fcgi", "haproxy-fcgi-c", "h2o-fcgi-c", "caddy-fcgi-c" } do
    t.ok(stacks[name], "the study of web servers in front has " .. name)
end
t.is(arms, 30, "kept and fresh, three loads")
t.ok(plan.build({ fronts }, "default").seconds <= 480, "which takes at most 8 minutes")

local by_name = {}
for _, document in ipairs(all) do
    by_name[document.name] = document
end

-- Published figures, spot-checked against each other: a mean is connections / rate.
for _, document in ipairs(all) do
    for _, comparison in ipairs(document.comparisons) do
        for _, arm in ipairs(comparison.arms) do
            local published = arm.published
            if published and published.mean_ms and document.name ~= "livecode" then
                local mean_ms = comparison.load.connections / published.rate_per_s * 1000
                t.ok(math.abs(mean_ms / published.mean_ms - 1) < 0.01,
                    ("%s, %s: published mean and rate agree (%.3f, %.3f)"):format(comparison.name, arm.label, mean_ms, published.mean_ms))
            end
        end
    end
end
local slow = by_name["apache-nginx"].comparisons[3]
t.is(slow.by_label["nginx-php-cgi"].published.non_2xx, 2199, "the slow page's error pages are recorded")
t.is(slow.by_label["nginx-php-cgi"].published.failed + slow.by_label["nginx-php-cgi"].published.non_2xx, 3000,
    "801 length failures and 2,199 error pages are all 3,000 requests")

-- Refusals name the place and what is wrong.
local function refusal(document)
    local ok, failure = pcall(documents.check, document, "mine.lua")
    return not ok and failure.usage or ""
end
t.like(refusal({}), "^mine.lua: name must be a string", "a document without a name is refused")
t.like(refusal({ name = "x", comparisons = { { name = "c", page = "p", arms = {} } } }), "comparison c: has no arms", "no arms")
t.like(refusal({ name = "x", comparisons = { { name = "c", page = "p", arms = { {} } } } }), "arm 1: needs stack",
    "an arm without a stack")
t.like(refusal({ name = "x", comparisons = { { name = "c", arms = { { stack = "s" } } } } }), "needs page", "no page")
t.like(refusal({ name = "x", comparisons = { { name = "c", page = "p", arms = { { stack = "s" } }, claims = { { faster = "a",
    slower = "s" } } } } }),
    "the claim names a", "a claim about an arm that is not there")

-- Plans.
local default = plan.build(all, "default")
t.ok(default.seconds <= 480, ("the default profile is planned within 8 minutes (%.0f s)"):format(default.seconds))
for _, step in ipairs(default.steps) do
    if step.kind == "comparison" and not step.comparison.load.wait_s then
        t.ok(step.rounds >= 5 or #step.comparison.claims == 0, step.comparison.name .. ": at least five rounds for a claim")
    end
end
local documented = plan.build({ by_name["wsgi-fastcgi"] }, "documented")
t.is(documented.steps[1].requests, 1000, "PROFILE=documented takes the document's own count")
t.ok(not pcall(plan.build, all, "hasty"), "an unknown profile is refused")

local hello = by_name["php-node-lua"].comparisons[1]
local function keys(with_tuned)
    local list = {}
    for i, arm in ipairs(plan.arms(hello, with_tuned)) do
        list[i] = arm.key
    end
    return table.concat(list, ",")
end
t.like(keys(true), "nginx%-lua,nginx%-lua %(tuned%)", "a stack is planned as documented and tuned")
t.ok(not keys(false):find("(tuned)", 1, true), "without the tuned variants they are not planned")
t.like(keys(false), "nginx%-floor", "the references stay")

local function affordable(claims, ...)
    return ("%d %.2f"):format(plan.affordable({ rounds = 5, slot_s = 0.4, comparison = { claims = claims } }, ...))
end
t.is(affordable({}, 100, 400, 110, 480), "5 0.40", "a run that keeps up measures all its rounds")
t.is(affordable({ 1 }, 100, 400, 170, 480), "5 0.25", "one that is behind measures shorter slots, five where a claim is judged")
t.is(affordable({}, 100, 400, 170, 480), "3 0.25", "and fewer, at least three, where none is")
t.is(affordable({}, 100, 400, 1000, nil), "5 0.40", "without a limit nothing is cut")
local spare = { limit_s = 100, steps = { { kind = "comparison", seconds = 20, comparison = { claims = { 1 } } },
    { kind = "comparison", seconds = 20, comparison = { claims = {} } }, { kind = "comparison", seconds = 20, comparison = { claims = { 1 } } } } }
t.is(plan.allowance(spare, 1, 20), 20, "what the plan leaves of the limit is shared by the comparisons with claims")
t.is(plan.allowance(spare, 3, 60), 40, "the last one gets what is left")
t.is(plan.allowance(spare, 1, 90), 0, "a run that is late buys no more rounds")

-- Shuffling: a permutation, and every order comes up.
math.randomseed(7)
local seen, count = {}, 0
for _ = 1, 400 do
    local order = table.concat(plan.shuffled({ 1, 2, 3 }, math.random))
    if not seen[order] then
        seen[order], count = true, count + 1
    end
end
t.is(count, 6, "three arms take all six orders")

-- The names of a list: by commas, a path with blanks is one name.
local path = os.tmpname()
local file = io.open(path .. " x.lua", "w")
file:write('return { name = "mine", comparisons = { { name = "c", path = "/", arms = { { url = "http://127.0.0.1:1/" } } } } }')
file:close()
local mine = documents.select(path .. " x.lua", t.root)
t.is(mine[1].name, "mine", "a document in a file whose name has a blank")
t.is(mine[1].comparisons[1].load.connections, 10, "what is left out has a default")
os.remove(path .. " x.lua")
os.remove(path)

t.done()
