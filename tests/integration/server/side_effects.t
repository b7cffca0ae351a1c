#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- What a handler does to its process stays without effect on the server's own work: the process is soon
-- as it was, requests of others are answered right, logs and status are written as before, signals and time
-- limits do what they do. Each child, and each Lua state, draws random numbers of its own.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi = require("fcgi")
local process = t.process

local kinds = { "locale", "umask", "chdir", "block", "unblock", "handlers", "alarm", "timers", "environment", "close",
    "redirect", "rounding", "traps", "fork" }

-- A German locale: decimal commas, other names of months. "" if it cannot be made here.
local locales = t.dir .. "/locales"
local made = process.run { "sh", "-c", ("mkdir -p '%s' && localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8'"):format(locales, locales) }
local german = made.status == 0 and { LOCPATH = locales, LC_ALL = "de_DE.UTF-8" } or {}
if not german.LOCPATH then
    t.note("no German locale here (package locales): the locale is changed to the one of the system")
end

local arithmetic = process.write_file(t.dir .. "/arithmetic.lua", [[
return function(request)
    local sum = 0
    for i = 1, 100 do
        sum = sum + 1 / i
    end
    request:print("%.17g %s\n", sum, tostring(0.1 + 0.2))
end
]])

local function start(engine, options)
    options.engine, options.children, options.env = engine, 1, german
    options.routes = { "/effects=" .. t.build .. "/fixtures/side_effects.so" .. (options.init or ""), "/arithmetic=" .. arithmetic,
        "/body=" .. t.fixture("body.so") }
    local access = t.dir .. "/access-" .. engine .. (options.init or "") .. ".log"
    options.arguments = { "--access-log", access, "--status-path", "/status", "--request-timeout", "1500ms" }
    local server = t.server.start(options)
    server.access = access
    return server
end

local function shown(server)
    return server:get("/effects?show=1").body
end

local function works(server, what, before)
    local upload = ("x"):rep(200000)
    t.is(server:get("/body?count=1", { method = "POST", body = upload }).body, "200000\n", what .. ": an upload is right")
    t.is(server:get("/arithmetic").body, before.arithmetic, what .. ": a Lua handler calculates as before")
    local metrics = server:get("/status?openmetrics").body
    t.ok(metrics:find('le="0.000001"', 1, true) and not metrics:find("%d,%d"), what .. ": the metrics have points", metrics:match("le=[^}]*"))
    local late = fcgi.params("/echo")
    late[#late + 1] = { "REQUEST_START", ("%.3f"):format(os.time()) }
    t.is(fcgi.get(server.address, "", { params = late }).status, 200, what .. ": times are read as before")
    local line = (process.read_file(server.access) or ""):match("([^\n]*)\n$") or ""
    t.ok(line:find(os.date("/%b/%Y:", os.time()), 1, true) or line:find(os.date("!/%b/%Y:", os.time()), 1, true),
        what .. ": the access log has an English date", line)
    t.ok(not line:find("+1400", 1, true), what .. ": in the time zone of the start", line)
end

t.each_engine(function(engine)
    local server = start(engine, {})
    local before = { shown = shown(server), arithmetic = server:get("/arithmetic").body }
    for _, what in ipairs(kinds) do
        t.is(server:get("/effects?do=" .. what).body, "done\n", what)
        works(server, what, before)
        local after
        process.poll(2, function()
            after = shown(server)
            return after == before.shown
        end)
        t.ok(after == before.shown, what .. ": the process is soon as it was",
            process.run { "sh", "-c", "diff", stdin = "" } and after .. "\n-- before --\n" .. before.shown)
    end
    process.pause(1.2)
    t.is(server:get("/effects?ms=10000", { timeout = 10 }).status, 504, "the time limit still holds")
    t.ok(server:expect_log("did not return") == nil, "and says so")
    process.poll(5, function() return server:get("/echo").status == 200 end)
    server:expect_log("time limit")
    server:expect_log("request_timeout")
    server:unchanged("nothing else went wrong", { pids = false })
    server:stop()
end)

-- A signal that comes while its handler has it unblocked waits for the server all the same.
t.each_engine(function(engine)
    local server = start(engine, {})
    local connection = fcgi.connect(server.address)
    connection:send(fcgi.request { path = "/effects?do=unblock&ms=700" })
    process.pause(0.2)
    process.kill(server:workers()[1], "QUIT")
    local answer = connection:answer(1, 5)
    t.is(answer.body, "done\n", "a child that is told to end finishes the request")
    local how, code = server:stop()
    t.ok(how == "exited" and code == 0, "and the server stops in good order", how .. " " .. tostring(code))
end)

-- init() is handler code as well.
t.each_engine(function(engine)
    for _, what in ipairs(kinds) do
        if what ~= "fork" then
            local plain = start(engine, {})
            local before = { shown = shown(plain), arithmetic = plain:get("/arithmetic").body }
            plain:stop()
            local server = start(engine, { init = ",init:" .. what })
            works(server, "init: " .. what, before)
            local function neutral(text) return (text:gsub("descriptor[^\n]*", "")) end
            local after
            process.poll(2, function()
                after = neutral(shown(server))
                return after == neutral(before.shown)
            end)
            t.ok(after == neutral(before.shown), "init: " .. what .. ": the process is soon as it was", after)
            local how, code = server:stop()
            t.ok(how == "exited" and code == 0, "init: " .. what .. ": it stops in good order", how .. " " .. tostring(code))
        end
    end
end)

-- Random numbers.
local random = process.write_file(t.dir .. "/random.lua", [[
local first = math.random(2 ^ 50)
return function(request)
    request:print("%d %d", first, math.random(2 ^ 50))
end
]])
local drawn = {}
for _ = 1, 2 do
    local server = t.server.start { engine = "event", children = 4, routes = { "/random=" .. random } }
    for _ = 1, 4 do
        local pid = server:workers()[1]
        local answer = server:get("/random").body
        for number in answer:gmatch("%d+") do
            drawn[#drawn + 1] = number
        end
        process.kill(pid, "TERM")
        process.poll(5, function() return #server:workers() == 4 and server:workers()[1] ~= pid end)
    end
    server:stop()
end
local seen, twice = {}, 0
for i = 2, #drawn, 2 do
    twice = twice + (seen[drawn[i]] and 1 or 0)
    seen[drawn[i]] = true
end
t.ok(twice == 0 and #drawn == 16, "children, their successors and a restart draw other numbers", table.concat(drawn, " "))

-- What systemd said to the server is not said to what handlers start.
local names = process.write_file(t.dir .. "/names.lua", [[
return function(request)
    for _, name in ipairs { "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "KEPT" } do
        request:write(name, "=", tostring(os.getenv(name)), "\n")
    end
end
]])
local server = t.server.start { children = 1, routes = { "/names=" .. names },
    env = { NOTIFY_SOCKET = "/nowhere/notify", WATCHDOG_USEC = "30000000", LISTEN_FDNAMES = "x", KEPT = "yes" } }
t.is(server:get("/names").body, "LISTEN_FDS=nil\nLISTEN_PID=nil\nLISTEN_FDNAMES=nil\nNOTIFY_SOCKET=nil\nWATCHDOG_USEC=nil\n"
    .. "WATCHDOG_PID=nil\nKEPT=yes\n", "the environment of handlers")
server:stop()
t.done()
