#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- fcgi-server(8) names every option of --help with its letter and value, and no other;
-- -T prints a file that -c reads back the same; exit statuses; the signals.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
t.need("mandoc")

local function run(...)
    return process.run { t.server.program, ... }
end

local page = t.root .. "/fcgi-server/fcgi-server.8"
local manual = process.read_file(page)
local help = run("--help").out

local function set_of(text, pattern)
    local list = {}
    for letter, name in text:gmatch(pattern) do
        list[#list + 1] = "-" .. letter:gsub("[%s,]", "") .. " --" .. name
    end
    table.sort(list)
    return list
end

local wanted = set_of(help, "\n  %-?(.).? +%-%-([%l-]+)")
for _, entry in ipairs(set_of(help, "\n  %-(.), %-%-([%l-]+)")) do
    t.like(entry, "^%-%a %-%-", "an option with a letter: " .. entry)
end
local in_help, in_manual = {}, {}
for name in help:gmatch("%-%-([%l-]+)[ =]") do
    in_help[name] = true
end
for line in manual:gmatch("\n%.It (Fl [^\n]+)") do
    local name = line:match("Fl %-([%l-]+)")
    in_manual[name] = line
end
t.ok(#wanted > 40, "the options are found in --help", #wanted)
for name in pairs(in_help) do
    if name ~= "help" or in_manual.help then
        t.ok(in_manual[name], "the manual has --" .. name)
    end
end
for name, line in pairs(in_manual) do
    t.ok(in_help[name], "--help has --" .. name)
    local letter = line:match("^Fl (%a) ,")
    local shown = help:match("\n  %-(%a), %-%-" .. name:gsub("%-", "%%-") .. "[ =]")
    t.is(letter, shown, "--" .. name .. ": the letter")
    local takes = help:match("%-%-" .. name:gsub("%-", "%%-") .. "=") ~= nil
    t.is(line:find(" Ns = Ns Ar ", 1, true) ~= nil, takes, "--" .. name .. ": the value")
end

local lint = process.run { "mandoc", "-Tlint", "-Wwarning", page }
t.is(lint.out, "", "mandoc finds nothing")

for _, name in ipairs { "TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "TTIN", "TTOU" } do
    t.like(manual, "%.It[^\n]*" .. name, "the table of signals has " .. name)
end

local conf = t.root .. "/conf/fcgi-server.lua"
local dump = run("-T", "-c", conf, "-n", "3", "--access-format", 'a "b" \\ %% %m', "--stop-timeout", "90s",
    "--body-max", "3m", "-r", "/x=echo.so,one, two\n")
t.is(dump.status, 0, "-T")
local copy = process.write_file(t.dir .. "/dump.lua", dump.out)
local again = run("-T", "-c", copy)
local function plain(text)
    return (text:gsub(" %-%- [^\n]*", ""))
end
t.is(plain(again.out), plain(dump.out), "what -T prints reads back the same")
t.like(dump.out, '\nroute%("/hello", "hello.so"%) %-%- [^\n]*conf/fcgi%-server.lua:%d+\n', "with the place of each route")
t.is(run("-t", "-c", conf).status, 0, "-t: good")
t.is(run("-t", "-c", conf, "-r", "/x=absent.so").status, 100, "-t: a bad handler")
t.is(run("-t", "-c", "/nonexistent").status, 100, "-t: no file")
for _, words in ipairs { { "-l", "junk" }, { "-l", "unix:" }, { "-l", "fd:x" }, { "-l", ":0" }, { "--socket-owner", "no body" } } do
    local bad = run("-t", "-c", conf, unpack(words))
    t.ok(bad.status == 100 and bad.err:find("error: "), "-t: " .. table.concat(words, " "), bad.err)
end
for _, name in ipairs { "--engine=", "--log=", "--pool=", "--access-format=", "--listen=", "--ping-path=" } do
    t.is(run("-t", "-c", conf, name).status, 0, name .. " is the default")
end
for _, name in ipairs { "--config=", "--status=", "--status-format=" } do
    t.is(run("-l", "unix:" .. t.dir .. "/s", name).status, 100, name .. " is refused")
end
t.is(run("-t", "-T", "-c", conf).status, 100, "-t with -T")
t.like(run("-tQ").err, "error: unknown option '%-Q'", "the letter that is none is named")
t.is(run("--children", "many").status, 100, "a wrong value")
t.is(run("--unknown").status, 100, "an unknown option")
t.like(run("--unknown").err, "^fcgi%-server: error: ", "errors begin the same way")
t.is(run("-c", conf, "-n", "1", "-l", "unix:" .. t.dir .. "/s", "--log", t.dir .. "/none/log").status, 111,
    "a log that cannot be opened")
t.like(run("-V").out, "^fcgi%-server %d", "-V")
t.done()
