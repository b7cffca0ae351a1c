-- SPDX-License-Identifier: MIT
--
-- stacks.lua - one stack of bench/stacks under test:
--
--   stacks.names(own)   shipped stacks of this project's own programs and nginx alone, or the others
--   stacks.some()       enough of them that each program of theirs is in one
--   stacks.check(name, options, title)   comes up, answers each of its pages with the exact bytes,
--                                        logs no error, leaves nothing; skipped when not installed

local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")
local http = require("bench.suite.system.http")
local programs = require("bench.suite.bring_up.programs")
local stack = require("bench.suite.bring_up.stack")
local stack_options = require("bench.suite.bring_up.stack_options")

local function table_page(max)
    local parts = {}
    for row = 0, max - 1 do
        parts[#parts + 1] = "<tr>"
        for column = 0, row - 1 do
            parts[#parts + 1] = ("<td>%d %d</td>"):format(row, column)
        end
        parts[#parts + 1] = "</tr>"
    end
    return "<table>" .. table.concat(parts) .. "</table>"
end

-- The date on the page is the day's: around midnight either will do.
local function livecode_page()
    return "<br /><p align='center'>Hello World from testbed 1.0</p><p align='center'>on "
        .. os.date("!%Y-%m-%d") .. "</p>"
end

local TEXT, HTML = "text/plain", "text/html; charset=utf-8"
local WANTED = {
    static = { TEXT, "hello world\n" },
    echo = { TEXT, "hello world\n" },
    light = { TEXT, "echo" },
    david = { TEXT, "Hello, david!\n" },
    hello = { HTML, "<h1>Hello john</h1>" },
    slow = { TEXT, "slept 400 ms\n" },
    table = { HTML, table_page(99) },
    livecode = { HTML, livecode_page() },
    globals = { nil, nil }, -- each language has its own
}
assert(#WANTED.table[2] == 67840)

local bodies = {} -- of pages that each stack has in its own words

local function check_pages(s)
    for name, path in pairs(s.pages) do
        local answer = http.get(s.url, path) or { headers = {}, body = "" }
        local wanted = WANTED[name]
        if name == "livecode" and answer.body ~= wanted[2] then
            wanted = { HTML, livecode_page() }
        end
        t.is(answer.status, 200, name .. ": status")
        if wanted[2] then
            t.is(answer.body, wanted[2], name .. ": body")
            -- A file's character set is the web server's to say.
            local kind = (answer.headers["content-type"] or ""):gsub(name == "static" and "; charset=utf%-8" or "^$", "")
            t.is(kind, wanted[1], name .. ": type")
        else
            t.ok(#answer.body > 10, name .. ": a body")
            -- Lua's search path names the folder of the run.
            local body = answer.body:gsub(s.folder:gsub("%p", "%%%0"), "FOLDER")
            bodies[s.name] = bodies[s.name] or body
            t.ok(body == bodies[s.name], name .. ": the same in every run of " .. s.name)
        end
    end
end

local function is_noise(line, patterns)
    for _, pattern in ipairs(patterns or {}) do
        if line:find(pattern) then
            return true
        end
    end
    return false
end

local function quiet(s)
    local bad, noise = {}, stack.describe(s.name).log_noise
    for line in (t.read_file(s.logs.error_log or "") or ""):gmatch("[^\n]+") do
        -- nginx and Apache; lighttpd has no levels.
        if line:find("%[[%w_]*:?emerg%]") or line:find("%[[%w_]*:?alert%]") or line:find("%[[%w_]*:?crit%]")
            or line:find("%[[%w_]*:?error%]") or line:find("%[[%w_]*:?warn%]") then
            bad[#bad + 1] = not is_noise(line, noise) and line or nil
        end
    end
    t.is(table.concat(bad, "\n"), "", "nothing bad in the error log")
end

local function check_gone(s, pids)
    local alive = {}
    for _, pid in ipairs(pids) do
        if t.process.alive(pid) then
            alive[#alive + 1] = pid .. " " .. t.process.command(pid)
        end
    end
    t.is(table.concat(alive, "\n"), "", "down: no process of it lives")
    t.ok(not t.read_file(s.folder .. "/app.sock") and not stat.lstat(s.folder),
        "down: its folder is gone")
    t.ok(not http.get(s.url, "/", 2), "down: nobody listens at its port")
end

local function one(name, options)
    if not stack_options.takes(stack.describe(name), "children") then
        options.children = nil
    end
    local s, reason = stack.up(name, options)
    if not t.ok(s, "comes up", reason) then
        return
    end
    local pids = {}
    for _, group in ipairs(s.groups) do
        local found = group.pids()
        t.ok(#found > 0, group.name .. ": has processes")
        for _, pid in ipairs(found) do
            pids[#pids + 1] = pid
        end
    end
    check_pages(s)
    quiet(s)
    stack.down(s)
    check_gone(s, pids)
end

-- Folders of the runs lie in the test's own, so that they go with it even if the test is killed.
-- Others may pass through: Apache's children change their user.
stdlib.setenv("TMPDIR", t.dir)
stat.chmod(t.dir, 457)

local stacks = { module = stack }

-- nginx with its modules, and what the pages of this project are written in.
local PLAIN = { nginx = true, ["nginx-lua"] = true, luajit = true }

local function is_own(description)
    local plain = true
    for _, need in ipairs(description.needs) do
        if programs.built(need) then
            return true
        end
        plain = plain and PLAIN[need]
    end
    return plain
end

function stacks.names(own)
    local names = {}
    for _, name in ipairs(stack.names()) do
        names[#names + 1] = (is_own(stack.describe(name)) or false) == own and name or nil
    end
    return names
end

function stacks.some()
    local names, seen = {}, {}
    for _, name in ipairs(stack.names()) do
        local description, new = stack.describe(name), false
        for _, need in ipairs(description.needs) do
            new, seen[need] = new or not seen[need], true
        end
        names[#names + 1] = new and not description.unavailable and name or nil
    end
    return names
end

function stacks.check(name, options, title)
    local missing = stack.missing(name)
    if missing then
        return t.skip(title or name, missing)
    end
    t.case(title or name, function()
        one(name, options)
    end)
end

return stacks
