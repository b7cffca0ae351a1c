#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Ctrl-C (INT to the whole group) of `bench/bench tune` and `bench/bench run` while a pool of 1,024 children is
-- up: the command ends and nothing is left, no process, socket or temporary folder. Prints how long it took, of
-- which 3 s are the aim on an idle machine; asserted is only what a busy one can keep as well.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
t.need("nginx")
local process = t.process

local CHILDREN, LIMIT_S, UP_S = 1024, 15, 300

local document = process.write_file(t.dir .. "/doc.lua", ([[
return { name = "doc", comparisons = { { name = "many", title = "many", page = "echo", expect = { bytes = 12 },
    load = { connections = 4 }, arms = { { stack = "nginx-fcgi-c", documented = { children = %d } } } } } }
]]):format(CHILDREN))

local COMMANDS = {
    tune = { "tune", "fcgi-server", "--page", "echo", "--counts", "1023,1024", "-d", "60s", "--repeats", "1", "--plain" },
    run = { "run", "-p", "quick", "--slot", "60", "--rounds", "1", "--plain", document },
}

-- A load of a minute runs: the pool is up, and the measurement under way.
local function measuring(pid)
    local servers, load = 0, false
    for _, one in ipairs(process.descendants(pid)) do
        local command = process.command(one) or ""
        servers = servers + (command:find("^[^ ]*fcgi%-server[: ]") and 1 or 0)
        load = load or command:find("load%-client .*60000ms")
    end
    return load and servers >= CHILDREN - 1
end

for name, words in pairs(COMMANDS) do
    t.case(name, function()
        local temporary = t.dir .. "/tmp-" .. name
        require("posix.sys.stat").mkdir(temporary, 493)
        local argv = { t.root .. "/bench/bench", unpack(words) }
        argv[#argv + 1], argv[#argv + 2] = "-o", t.dir .. "/results-" .. name
        argv.stdout, argv.stderr, argv.own_group = t.dir .. "/out-" .. name, t.dir .. "/err-" .. name, true
        argv.env = { BUILD = t.build, TMPDIR = temporary, DOCS = false, PROFILE = false, RESULTS = false }
        local pid = process.spawn(argv)
        local began = t.now()
        t.ok(process.poll(UP_S, function()
            return measuring(pid)
        end), CHILDREN .. " children are measured", t.read_file(argv.stdout) .. t.read_file(argv.stderr))
        local up_s, down = t.now() - began, t.now()
        process.kill(-pid, "INT")
        local how, code = process.wait(pid, LIMIT_S)
        t.note(("%s: up after %.1f s, ended %.2f s after INT"):format(name, up_s, t.now() - down))
        t.is(tostring(how) .. " " .. tostring(code), "exited 130", ("ends within %d s as interrupted"):format(LIMIT_S))
        t.is(#process.descendants(require("posix.unistd").getpid()), 0, "no process is left")
        t.is(process.run({ "find", temporary, "-mindepth", "1" }).out, "", "no socket or folder is left")
    end)
end

t.done()
