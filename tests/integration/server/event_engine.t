#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- What only the event engine promises: waiting handlers leave the child free, a front
-- end that has gone is noticed, time limits end in a 504, connections move between
-- children with all that was read from them.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local cjson = require("cjson")
local fcgi, load, process = t.fcgi, t.load, t.process

local function status(server)
    return cjson.decode(server:get("/status?json").body)
end

-- Polls until <name> of the status is at least <wanted>.
local function counted(server, name, wanted)
    return process.poll(10, function()
        return status(server)[name] >= wanted
    end)
end

local function open(server, path, options)
    options = options or {}
    local connection = fcgi.connect(server.address)
    connection:send(fcgi.request { path = path, keep = options.keep, id = options.id })
    return connection
end

-- Holds every child in a handler that blocks; returns when they do.
local function hold(server, children, ms)
    local held = {}
    for index = 1, children do
        held[index] = open(server, "/sleep?ms=" .. ms)
    end
    return held
end

t.case("one child", function()
    local server = t.server.start { engine = "event", children = 1 }

    local report, result = load.run {
        "-n", 1000, "-c", 1000, "fcgi+" .. server.address .. ":/lua/sleep?ms=400", timeout = 60,
    }
    t.ok(report.requests.ok == 1000, "1,000 waiting Lua requests at the same time", load.summary(report, result))
    t.ok(report.elapsed_s < 20, "in far less than the 400 s of one after another", tostring(report.elapsed_s))
    t.note(("1,000 requests of 400 ms on one child: %.3f s in all"):format(report.elapsed_s))

    local all = {}
    for index = 1, 50 do
        all[index] = fcgi.request { path = "/hello?name=n" .. index, keep = true, id = index }
    end
    local pipelined = fcgi.connect(server.address)
    pipelined:send(table.concat(all))
    local right = 0
    for index = 1, 50 do
        local answer = pipelined:answer(index, 10)
        right = right + (answer.body == "<h1>Hello n" .. index .. "</h1>" and 1 or 0)
    end
    t.is(right, 50, "50 requests in one write are answered in their order")
    pipelined:close()

    local before = status(server)
    local leaves = open(server, "/lua/sleep?ms=30000")
    t.ok(process.poll(10, function()
        return status(server)["requests in flight"] >= 2
    end), "a request waits")
    leaves:close()
    t.ok(counted(server, "aborted requests", before["aborted requests"] + 1),
        "when its front end goes, it is ended and counted")
    t.ok(process.poll(10, function()
        return status(server)["requests in flight"] == 1
    end), "and no longer in flight")

    local aborts = open(server, "/lua/sleep?ms=30000", { keep = true })
    process.poll(10, function()
        return status(server)["requests in flight"] >= 2
    end)
    aborts:send(fcgi.record(fcgi.ABORT, 1))
    local answer = aborts:answer(1, 10)
    t.ok(answer.complete or answer.closed, "an ABORT_REQUEST ends a waiting request")
    aborts:close()

    before = status(server)
    local held = hold(server, 1, 600)
    process.pause(0.1)
    for _ = 1, 5 do
        open(server, "/hello?name=nobody"):close()
    end
    t.is(held[1]:answer(1, 10).body, "slept 600 ms\n", "a blocking handler holds the only child")
    t.ok(counted(server, "skipped requests", before["skipped requests"] + 5),
        "requests whose front end went meanwhile are not run")
    server:unchanged("after all this")
    server:stop()
end)

t.case("limits", function()
    local server = t.server.start {
        engine = "event", children = 1,
        arguments = { "--requests-max", "10", "--params-max", "20k", "--body-max", "100k", "--read-timeout", "1s" },
    }
    local report = load.run {
        "-n", 30, "-c", 30, "fcgi+" .. server.address .. ":/lua/sleep?ms=200", timeout = 30,
    }
    t.is(report.requests.ok, 30, "more requests than may be in flight wait for their turn")
    t.ok(report.elapsed_s > 0.55, "ten at a time", tostring(report.elapsed_s))

    local answer = fcgi.get(server.address, "/echo?" .. ("x"):rep(30000))
    t.is(answer.status, 431, "parameters over params_max")
    answer = fcgi.get(server.address, "/echo", { method = "POST", body = ("x"):rep(200000) })
    t.is(answer.status, 413, "a body over body_max")
    answer = fcgi.get(server.address, "/echo", { method = "POST", body = ("x"):rep(100000) })
    t.is(answer.status, 200, "a body below it")

    local slow = fcgi.connect(server.address)
    slow:send(fcgi.request({ path = "/hello?name=x" }):sub(1, 40))
    local begun = process.now()
    local _, closed = slow:read_all(10)
    t.ok(closed and process.now() - begun > 0.9, "half a request is dropped after read_timeout")
    t.ok(counted(server, "dropped connections", 1), "and counted")
    server:stop()
end)

t.case("handover", function()
    local server = t.server.start { engine = "event", children = 2 }
    local kept = {}
    for index = 1, 20 do
        kept[index] = open(server, "/hello?name=k", { keep = true })
        t.ok(kept[index]:answer(1, 10).complete, "kept connection " .. index)
    end
    -- Whichever child has them: one of the two sleeps, the other takes over.
    local held = hold(server, 1, 2000)
    process.pause(0.2)
    local slowest = 0
    for _, connection in ipairs(kept) do
        local begun = process.now()
        connection:send(fcgi.request { path = "/hello?name=again", keep = true })
        local answer = connection:answer(1, 10)
        slowest = math.max(slowest, answer.complete and process.now() - begun or 99)
    end
    t.ok(slowest < 1, "none of 20 kept connections waits for the child that sleeps 2 s", slowest .. " s")
    held[1]:answer(1, 10)

    -- A request of which one half has been read moves, too.
    local bytes = fcgi.request { path = "/hello?name=halves", keep = true }
    for _, connection in ipairs(kept) do
        connection:send(bytes:sub(1, 60))
    end
    process.pause(0.1)
    local sleeper = hold(server, 1, 2000)
    process.pause(0.2)
    slowest = 0
    local right = 0
    for _, connection in ipairs(kept) do
        local begun = process.now()
        connection:send(bytes:sub(61))
        local answer = connection:answer(1, 10)
        right = right + (answer.body == "<h1>Hello halves</h1>" and 1 or 0)
        slowest = math.max(slowest, process.now() - begun)
    end
    t.is(right, 20, "half-read requests are whole after the move")
    t.ok(slowest < 1, "and do not wait either", slowest .. " s")
    sleeper[1]:close()
    t.ok(status(server)["handed connections"] > 0, "connections were handed over")

    -- A child that retires leaves its kept connections to the others.
    server:signal("TTOU")
    t.ok(process.poll(10, function()
        return #server:workers() == 1
    end), "one child retires")
    right = 0
    for _, connection in ipairs(kept) do
        connection:send(fcgi.request { path = "/hello?name=still", keep = true })
        right = right + (connection:answer(1, 10).body == "<h1>Hello still</h1>" and 1 or 0)
        connection:close()
    end
    t.is(right, 20, "all 20 kept connections live on")
    server:stop()
end)

t.case("without a master", function()
    local server = t.server.start { engine = "event", launch = "direct" }
    local kept = open(server, "/hello?name=k", { keep = true })
    t.ok(kept:answer(1, 10).complete, "a kept connection")
    local held = hold(server, 1, 500)
    process.pause(0.1)
    local late = fcgi.connect(server.address)
    late:send(fcgi.request { path = "/hello?name=late" })
    t.is(held[1]:answer(1, 10).body, "slept 500 ms\n", "a handler blocks")
    t.is(late:answer(1, 10).body, "<h1>Hello late</h1>", "then the next connection is served")
    local sent = kept:send(fcgi.request { path = "/hello?name=k", keep = true })
    local answer = sent and kept:answer(1, 5)
    t.ok(not sent or not answer.complete or answer.status == 200,
        "the idle one was ended, or is answered: never half of it")
    kept:close()
    server:stop()
end)
t.done()
