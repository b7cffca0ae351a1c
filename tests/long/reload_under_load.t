#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Reload, resizing, log reopening and replacing the binary under load, through nginx
-- with kept connections: no request fails, the socket stays the same file.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process
local stat = require("posix.sys.stat")
t.need("nginx")

local SECONDS = os.getenv("SHORT") and 8 or 20

local function under_load(engine, name, act, keepalive)
    local log = t.dir .. "/" .. engine .. name:gsub("%W", "") .. ".log"
    local server = t.server.start {
        engine = engine, children = 4, arguments = { "--log", log, "--pid-file", t.dir .. "/pid" },
    }
    local front = t.front.nginx { fcgi = server.address, keepalive = keepalive }
    local inode = stat.stat(server.socket).st_ino
    local out = t.dir .. "/report.json"
    os.remove(out)
    local client = process.spawn {
        load.program, "-q", "-f", "json", "-c", 4, "-k", "-d", SECONDS .. "s", front.url .. "/hello?name=x", stdout = out,
    }
    local events = 0
    local limit = t.now() + SECONDS - 1
    while t.now() < limit do
        process.pause(SECONDS / 8)
        act(server, events)
        events = events + 1
    end
    process.wait(client, 15)
    local good, report = pcall(require("cjson").decode, process.read_file(out) or "")
    t.ok(good and report.requests.failed == 0 and report.requests.ok > 100, name .. ": no request failed",
        good and load.summary(report, { err = "" }) or "no report")
    local failed = good and report.requests.failed or 1
    if failed > 0 then
        t.note(front:error_log():gsub("[^\n]*%[%a*[nif][no][tf][io]%a*%][^\n]*\n", ""):sub(1, 2000))
        t.note(process.read_file(log) or "")
    end
    t.is((stat.stat(server.socket) or {}).st_ino, inode, name .. ": the socket is the same file")
    t.ok(not front:error_log():find("No such file"), name .. ": nginx always found it")
    front:stop()
    -- After USR2 another process is the master.
    local pid = tonumber((process.read_file(t.dir .. "/pid") or ""):match("%d+")) or server.pid
    process.kill(pid, "TERM")
    t.ok(process.poll(10, function()
        process.wait(pid, 0)
        process.wait(server.pid, 0)
        return not process.alive(pid) and not process.alive(server.pid)
    end), name .. ": ends in good order")
end

t.each_engine(function(engine)
    for _, keepalive in ipairs { 8, false } do
        local kept = keepalive and "kept connections" or "fresh connections"
        under_load(engine, "reload, " .. kept, function(server)
            server:signal("HUP")
        end, keepalive or nil)
        under_load(engine, "resize and reopen, " .. kept, function(server, event)
            server:signal(({ "TTIN", "TTOU", "USR1", "TTOU", "TTIN" })[event % 5 + 1])
        end, keepalive or nil)
    end
    under_load(engine, "replaced binary", function(server, event)
        if event == 1 then
            server:signal("USR2")
        end
    end, 8)
end)
t.done()
