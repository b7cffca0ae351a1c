#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Each stack names the options it has a use for: those and no others change a command line, an
-- environment or a configuration file that is read. What it would ignore is refused. Nothing is started.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")
local assembly = require("bench.suite.bring_up.assembly")
local classify = require("bench.suite.analysis.classify")
local documents = require("bench.suite.run.documents")
local files = require("bench.suite.system.files")
local programs = require("bench.suite.bring_up.programs")
local stack = require("bench.suite.bring_up.stack")
local stack_options = require("bench.suite.bring_up.stack_options")

stdlib.setenv("TMPDIR", t.dir)
local PORT = 8999

-- Two values of each option that must make a difference.
local VALUES = {
    children = { 3, 5 }, backlog = { 100, 200 }, front_backlog = { 100, 200 }, keepalive = { 0, 3 }, workers = { 2, 1 },
    max_requests = { 100, 200 }, engine = { "event", "libfcgi" }, tcp = { false, true }, gzip = { false, true },
    config = { t.root .. "/conf/fcgi-server.lua", t.write_file(t.dir .. "/mine-server.lua", "return {}") },
    access_log = { false, true }, opcache = { false, true }, kept_sockets = { false, true },
}
-- Settled from others: with them nothing of the option's own is left to see, or too much is.
local BASE = { children = 4, keepalive = 3, workers = 1 }

-- The text of a configuration with what it includes, as nginx reads it; others as they are.
local function read_whole(path, folder)
    local text = files.read(path) or ""
    local parts = { text }
    for included in text:gmatch("\n%s*include ([%w_./-]+);") do
        parts[#parts + 1] = read_whole(folder .. "/" .. included, folder)
    end
    return table.concat(parts, "\n")
end

-- All that a stack's programs are told, as one text.
local function told(description, options)
    local folder = t.dir .. "/one"
    files.remove_tree(folder)
    local opts = { dir = folder, port = PORT }
    for name, value in pairs(options) do
        opts[name] = value
    end
    local s = assembly.new(description, opts, t.root)
    local lines = {}
    local ok, list = pcall(description.build, s, programs)
    for _, fd in ipairs(s.held) do
        unistd.close(fd)
    end
    assert(ok, list)
    for _, program in ipairs(list) do
        local words = {}
        for _, word in ipairs(program.argv) do
            words[#words + 1] = word
        end
        for name, value in pairs(program.env or {}) do
            words[#words + 1] = name .. "=" .. value
        end
        table.sort(words)
        lines[#lines + 1] = table.concat(words, " ")
    end
    for _, path in ipairs(s.configs) do
        lines[#lines + 1] = read_whole(path, path:match("^(.*)/"))
    end
    for _, path in ipairs({ "php.ini", "conf/local.conf" }) do
        lines[#lines + 1] = files.read(folder .. "/" .. path) or ""
    end
    -- Ports that were free are others each time.
    return (table.concat(lines, "\n"):gsub("127%.0%.0%.1:(%d+)", function(port)
        return tonumber(port) ~= PORT and "127.0.0.1:FREE" or nil
    end))
end

-- Does the stack heed the option <name>?
local function heeds(description, name)
    local seen = {}
    for i, value in ipairs(VALUES[name]) do
        local options = {}
        for _, base in ipairs({ "children", "keepalive", "workers" }) do
            options[base] = stack_options.takes(description, base) and BASE[base] or nil
        end
        options[name] = value
        seen[i] = told(description, options)
    end
    return seen[1] ~= seen[2]
end

for _, name in ipairs(stack.names()) do
    local missing = stack.missing(name)
    if missing and missing:find("installed") then
        t.skip(name, missing)
    else
        t.case(name, function()
            local description = stack.describe(name)
            local heeded = {}
            for option in pairs(VALUES) do
                heeded[#heeded + 1] = heeds(description, option) and option or nil
            end
            table.sort(heeded)
            t.is(table.concat(heeded, " "), table.concat(stack_options.taken(description), " "), "takes what it heeds")
            for variant, settings in pairs(description.variants) do
                t.is(stack_options.refused(description, settings.options), nil, variant .. ": its own options")
            end
        end)
    end
end

t.case("titles", function()
    local others = {}
    for _, name in ipairs(stack.names()) do
        local title = stack.describe(name).title
        t.ok(not others[title], name .. ": no other stack's", title)
        others[title] = true
        t.like(title:lower(), "^" .. (name:match("^%w+")) .. "[ .]", name .. ": begins with the web server")
        local front, rest = title:match("^(%S+) %-> (.*)$")
        t.ok(not front or rest:find("^FastCGI[ ,]") or rest:find("^uwsgi ") or rest:find("^HTTP "), name .. ": then the protocol", title)
    end
end)

t.case("refusals", function()
    local static = stack.describe("nginx-static")
    t.is(stack_options.refused(static, { workers = 2, port = 8000, variant = "tuned" }), nil, "what it takes")
    t.is(stack_options.refused(static, { children = 8 }),
        "nginx-static: no option children; it takes access_log, front_backlog, gzip, workers", "what it does not")
    t.is(stack_options.refused(static, { workers = "many" }), "workers: many is no good: expected a whole number from 1 to 512",
        "a value that is none")
    local own = { name = "mine", pages = {}, variants = { tuned = { options = { colour = "red" } } } }
    t.is(stack_options.refused(own, { colour = "blue" }), nil, "without a list: what its variants set")
    t.is(stack_options.refused({ name = "mine" }, { colour = "blue" }), "mine: no option colour; it takes none", "or nothing")
    local s, reason = stack.up("nginx-static", { children = 8 })
    t.ok(not s, "up refuses")
    t.like(reason, "no option children", "and says why")
end)

t.case("programs and log texts that a stack brings", function()
    local function mine(text)
        return t.write_file(t.dir .. "/mine.lua", "return { needs = { 'nine' }, pages = {}, build = function() end, " .. text .. " }")
    end
    t.is(stack.missing(mine("programs = { nine = { package = 'nine-web', commands = { 'nine-httpd' } } }")),
        "not installed (package nine-web)", "the package is the stack's own word")
    t.is(stack.missing(mine("programs = { nine = { commands = { 'sh' } } }")), nil, "and the command")
    t.is(classify.line("nine: backend gone", stack.describe(mine("log_texts = { { 'backend gone', false, 'child_died' } }")).log_texts),
        "child_died", "a line of its log stands for a cause")
    t.like(select(2, stack.describe(mine("log_texts = { { 'x', false, 'bad_luck' } }"))), "bad_luck is not a cause", "that is known")
end)

t.case("a document", function()
    local function check(arm)
        local ok, failure = pcall(documents.check, { name = "d", comparisons = { { name = "c", page = "echo", arms = { arm } } } }, "d")
        return ok and "fine" or failure.usage
    end
    t.is(check({ stack = "nginx-lua", documented = { children = 2 } }),
        "d, comparison c, arm 1: nginx-lua: no option children; it takes access_log, front_backlog, gzip, workers",
        "is refused before a stack is started")
    t.is(check({ stack = "nginx-lua", tuned = { workers = 2 } }), "fine", "what it takes")
end)

local function tune(...)
    local argv = { "luajit", t.root .. "/bench/bench", "tune", ... }
    argv.timeout, argv.env = 20, { BUILD = t.build, TMPDIR = t.dir, RESULTS = t.dir }
    return t.process.run(argv)
end

t.case("tune", function()
    local unknown = tune("fcgi-server", "--option", "foo=bar")
    t.is(unknown.status, 1, "an unknown option is a usage error")
    t.like(unknown.err, "nginx%-fcgi%-c: no option foo; it takes access_log, backlog, children", "which names those there are")
    t.is(tune("--option", "foo=bar").status, 1, "also without a pool")
    t.like(tune("--option", "engine=libfcgi").err, "nginx%-php%-fpm: no option engine", "where one of the pools has no use for it")
    t.like(tune("nginx-lua").err, "no children whose number could be tuned", "a stack without children")
    t.like(tune("php-fpm", "--option", "children=4").err, "what is tuned", "the count itself")
    t.like(tune("--command", "x {children}", "--url", "http://127.0.0.1:1/", "--option", "tcp=true").err, "is for stacks",
        "a command has none")
end)

t.done()
