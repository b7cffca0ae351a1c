#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Mishaps at random under verified load through nginx: no wrong body, no failed idempotent
-- request except while nginx itself is away, every other failure explained by a mishap, and
-- the pool as before at the end. CHAOS_S seconds (60), CHAOS_SEED to repeat a run.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
local verifier = require("verifier")
local unistd = require("posix.unistd")
t.need("nginx")

local SECONDS = tonumber(os.getenv("CHAOS_S") or (os.getenv("SHORT") and 25 or 60))
local SEED = tonumber(os.getenv("CHAOS_SEED") or os.time())
local CHILDREN = 6

local function table_page(max)
    local parts = { "<table>" }
    for row = 0, max - 1 do
        parts[#parts + 1] = "<tr>"
        for column = 0, row - 1 do
            parts[#parts + 1] = "<td>" .. row .. " " .. column .. "</td>"
        end
        parts[#parts + 1] = "</tr>"
    end
    parts[#parts + 1] = "</table>"
    return table.concat(parts)
end

local function random_name(path)
    local name = tostring(math.random(1e9))
    return path .. "?name=" .. name, "<h1>Hello " .. name .. "</h1>"
end

local pages = {
    { "/echo", "hello world\n" }, { "/hello", random_name }, { "/lua/hello", random_name }, { "/page", "installed" },
    { "/table", table_page(99) }, { "/lua/table?max=200", table_page(200) }, { "/table?max=300", table_page(300) },
    { "/sleep?ms=30", "slept 30 ms\n" }, { "/lua/sleep?ms=30", "slept 30 ms\n" },
    { "/body", ("post"):rep(2000), ("post"):rep(2000) },
}

local function pick(list)
    return list[math.random(#list)]
end

-- Each returns what to say about it, or nil when it could not be done; <harm> tells how
-- many seconds a request that may not be repeated, or nginx's absence, can be hurt by it.
local mishaps = {}

local function mishap(name, harm, away, act)
    mishaps[#mishaps + 1] = { name = name, harm = harm, away = away, act = act }
end

mishap("KILL to a child", 2, false, function(state)
    local pid = pick(state.server:workers())
    return pid and process.kill(pid, "KILL") == 0 and pid
end)
mishap("STOP and CONT of a child", 3, false, function(state)
    local pid = pick(state.server:workers())
    if pid then
        process.kill(pid, "STOP")
        process.pause(0.2 + math.random() * 0.8)
        process.kill(pid, "CONT")
    end
    return pid
end)
for _, name in ipairs { "HUP", "USR1", "TTIN", "TTOU" } do
    mishap(name .. " to the master", 0, false, function(state)
        return state:master_signal(name)
    end)
end
mishap("USR2 to the master", 0, false, function(state)
    local old = state:master()
    state:master_signal("USR2")
    process.poll(10, function()
        process.wait(old, 0)
        return state:master() ~= old and process.alive(state:master())
    end)
    return state:master()
end)
mishap("a handler replaced by install", 0, false, function(state)
    process.run { "cp", t.build .. "/handlers/echo.so", state.handler .. ".new" }
    return os.rename(state.handler .. ".new", state.handler)
end)
mishap("the log's disk full", 0, false, function(state)
    if not state.disk then
        return nil
    end
    process.run { "dd", "if=/dev/zero", "of=" .. state.disk .. "/filler", "bs=4k" }
    process.pause(1)
    return os.remove(state.disk .. "/filler")
end)
mishap("nginx ended and started again", 2, true, function(state)
    state.front:stop("TERM")
    process.pause(0.2)
    state.front:restart()
    return state.front.pid
end)
mishap("a child out of descriptors", 3, false, function(state)
    local pid = pick(state.server:workers())
    if not pid then
        return nil
    end
    local limit = process.read_file("/proc/" .. pid .. "/limits"):match("Max open files%s+(%d+)%s+(%d+)")
    process.run { "prlimit", "--pid", pid, "--nofile=" .. (process.fds(pid) or 10) .. ":" }
    process.pause(0.5)
    process.run { "prlimit", "--pid", pid, "--nofile=" .. limit .. ":" }
    return pid
end)

local function small_disk()
    local path = t.dir .. "/disk"
    process.run { "mkdir", path }
    if unistd.geteuid() ~= 0 or process.run { "mount", "-t", "tmpfs", "-o", "size=256k", "chaos", path }.status ~= 0 then
        return nil
    end
    return path
end

local function prepare(engine)
    local disk = small_disk()
    local handler = t.dir .. "/page.so"
    process.run { "cp", t.build .. "/handlers/echo.so", handler }
    local pid_file = t.dir .. "/pid-" .. engine
    local log = (disk or t.dir) .. "/" .. engine .. ".log"
    local server = t.server.start {
        engine = engine, children = CHILDREN,
        routes = { "/page=" .. handler .. ",installed", "/body=" .. t.fixture("body.so") },
        arguments = { "--pid-file", pid_file, "--log", log, "--backlog", "1024" },
    }
    local state = { server = server, handler = handler, disk = disk, log = log, first = server.pid }
    function state:master()
        return tonumber((process.read_file(pid_file) or ""):match("%d+")) or self.first
    end
    function state.master_signal(_, name)
        return process.kill(state:master(), name) == 0 and name
    end
    -- After USR2 the children belong to another master.
    server.workers = function()
        return process.children(state:master())
    end
    state.front = t.front.nginx {
        -- As the manual advises: kept connections with the event engine only. One that ends closes its
        -- kept connections, and when nginx meets two of these in a row it has tried both servers.
        fcgi = server.address, keepalive = engine == "event" and 8 or nil, workers = 2,
        -- A second try needs a second server to be tried: the same socket again.
        upstream = "    server " .. server.address:gsub("^unix:(.*)$", '"unix:%1"') .. " max_fails=0;\n",
        location = '      include "' .. t.root .. '/conf/nginx/include/fastcgi.conf";\n',
    }
    return state
end

local function counts(state)
    local fds, rss = 0, 0
    local pids = state.server:workers()
    for _, pid in ipairs(pids) do
        fds, rss = fds + (process.fds(pid) or 0), rss + (process.rss_kib(pid) or 0)
    end
    return { children = #pids, fds = fds, rss = rss, master_fds = process.fds(state:master()) or 0 }
end

local function settle(state)
    -- Resizes may have left the pool larger or smaller: as many as at the start.
    for _ = 1, 40 do
        local difference = CHILDREN - #state.server:workers()
        if difference == 0 then
            break
        end
        state:master_signal(difference > 0 and "TTIN" or "TTOU")
        process.pause(0.3)
    end
    process.pause(1)
end

local function run(engine)
    local state = prepare(engine)
    local clients = verifier.start { port = state.front.port, pages = pages, file = t.dir .. "/verified-" .. engine }
    process.pause(1)
    local before = counts(state)
    local events, resized = {}, 0
    local limit = t.now() + SECONDS
    while t.now() < limit do
        local row = pick(mishaps)
        if not (row.name:find("^TTOU") and resized <= -3) and not (row.name:find("^TTIN") and resized >= 3) then
            resized = resized + (row.name:find("^TTIN") and 1 or row.name:find("^TTOU") and -1 or 0)
            local start = t.now()
            local outcome = row.act(state)
            if outcome then
                events[#events + 1] = { name = row.name, from = start, to = t.now() + row.harm, away = row.away, harm = row.harm }
            end
        end
        process.pause(0.2 + math.random() * 0.6)
    end
    process.pause(2)
    settle(state)
    local result = clients:stop()
    local after = counts(state)

    local unexplained, idempotent = {}, 0
    for _, failure in ipairs(result.failures) do
        local reason
        for _, event in ipairs(events) do
            -- An answer of which a part has reached the client cannot be had again, by nobody.
            if event.harm > 0 and failure.to >= event.from and failure.from <= event.to
                and (event.away or not failure.idempotent or failure.what == "cut") then
                reason = event.name
            end
        end
        if not reason then
            idempotent = idempotent + (failure.idempotent and 1 or 0)
            local near = {}
            for _, event in ipairs(events) do
                if failure.to >= event.from - 1 and failure.from <= event.to + 3 then
                    near[#near + 1] = event.name
                end
            end
            unexplained[#unexplained + 1] = ("%s: %s at %.2f for %.2f s (near: %s)"):format(failure.page, failure.what,
                failure.from, failure.to - failure.from, table.concat(near, ", "))
        end
    end
    t.note(("%d answers verified, %d mishaps, %d failures in all, seed %d"):format(result.ok, #events,
        #result.failures, SEED))
    t.ok(result.ok > SECONDS * 10, "there was load", result.ok .. " answers")
    t.is(result.wrong, 0, "no wrong body")
    t.ok(idempotent == 0, "no idempotent request failed while nginx was there", table.concat(unexplained, "\n"))
    t.ok(#unexplained == 0, "every other failure is explained by a mishap", table.concat(unexplained, "\n"))
    t.is(after.children, before.children, "as many children as before")
    t.ok(after.fds <= before.fds + 8 and after.master_fds <= before.master_fds + 2, "no descriptor leaked",
        ("%d, then %d; master %d, then %d"):format(before.fds, after.fds, before.master_fds, after.master_fds))
    t.ok(after.rss < before.rss * 1.5 + 8192, "memory as before", before.rss .. " KiB, then " .. after.rss)
    t.ok(result.ended, "the clients ended in good order")
    if #unexplained > 0 then
        t.note(process.read_file(state.log) and process.read_file(state.log):sub(-3000) or "")
        t.note(state.front:error_log():sub(-3000))
    end
    state.front:stop()
    local master = state:master()
    process.kill(master, "TERM")
    t.ok(process.poll(10, function()
        process.wait(master, 0)
        return not process.alive(master)
    end), "it can be stopped")
    if state.disk then
        process.run { "umount", state.disk }
    end
end

math.randomseed(SEED)
t.each_engine(run)
t.done()
