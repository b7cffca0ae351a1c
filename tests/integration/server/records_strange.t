#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Strange records: ids, versions, management records, garbage. Nothing crashes,
-- nothing spins, and replies carry the request's own id.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, process = t.fcgi, t.process

local function cpu(server)
    local sum = 0
    for _, pid in ipairs(server:workers()) do
        sum = sum + (process.cpu_ms(pid) or 0)
    end
    return sum
end

local function ids(server)
    for _, id in ipairs { 1, 255, 256, 65535 } do
        local answer = server:get("/hello?name=id", { id = id })
        local only = true
        for seen in pairs(answer.ids) do
            only = only and seen == id
        end
        t.ok(answer.body == "<h1>Hello id</h1>" and only, "request id " .. id, answer.stdout)
    end
end

-- The connection ends within 3 s, without output, without burning CPU.
local function closes(server, name, bytes, keep_writing)
    local c = assert(fcgi.connect(server.address))
    local before = cpu(server)
    c:send(bytes)
    if not keep_writing then
        c:half_close()
    end
    local output, closed = c:read_all(3)
    c:close()
    local stdout = 0
    for _, record in ipairs((fcgi.records(output))) do
        stdout = stdout + (record.type == fcgi.STDOUT and 1 or 0)
    end
    t.ok(closed and stdout == 0, name .. ": closed without an answer",
        ("closed %s, %d bytes: %q"):format(tostring(closed), #output, output:sub(1, 60)))
    t.ok(cpu(server) - before <= 300, name .. ": no CPU spin", cpu(server) - before .. " ms")
    server:unchanged(name .. ": after it")
end

local function value_names(content)
    local names, at = {}, 1
    while at < #content do
        local name_length, value_length = content:byte(at, at + 1)
        names[#names + 1] = content:sub(at + 2, at + 1 + name_length)
        at = at + 2 + name_length + value_length
    end
    table.sort(names)
    return table.concat(names, " ")
end

local function first_record(c, kind, seconds)
    local data, found = "", nil
    process.poll(seconds, function()
        data = data .. (c:receive(0.1) or "")
        for _, record in ipairs((fcgi.records(data))) do
            found = found or (record.type == kind and record)
        end
        return found
    end)
    return found
end

local function get_values(server)
    local asked = fcgi.pair("FCGI_MAX_CONNS", "") .. fcgi.pair("FCGI_MAX_REQS", "")
        .. fcgi.pair("FCGI_MPXS_CONNS", "") .. fcgi.pair("FCGI_UNHEARD_OF", "")
    local c = assert(fcgi.connect(server.address))
    c:send(fcgi.record(fcgi.GET_VALUES, 0, asked))
    local reply = first_record(c, fcgi.GET_VALUES_RESULT, 2)
    t.is(reply and value_names(reply.content), "FCGI_MAX_CONNS FCGI_MAX_REQS FCGI_MPXS_CONNS",
        "GET_VALUES alone: each known name once, the unknown one left out")
    c:send(fcgi.request { path = "/hello?name=values" })
    t.is(c:answer(1, 3).body, "<h1>Hello values</h1>", "the connection is usable afterwards")
    c:close()
    c = assert(fcgi.connect(server.address))
    c:send(fcgi.record(fcgi.GET_VALUES, 0, asked:rep(300)))
    reply = first_record(c, fcgi.GET_VALUES_RESULT, 2)
    t.ok(not reply or #reply.content < 200, "the same names 300 times: no long reply",
        reply and tostring(#reply.content))
    c:close()
end

local function unknown_type(server)
    local c = assert(fcgi.connect(server.address))
    c:send(fcgi.record(42, 0, "what is this"))
    local reply = first_record(c, fcgi.UNKNOWN_TYPE, 2)
    t.is(reply and reply.content:byte(1), 42, "management type 42 gets an UNKNOWN_TYPE reply")
    c:send(fcgi.request { path = "/hello?name=type" })
    t.is(c:answer(1, 3).body, "<h1>Hello type</h1>", "the connection is usable after it")
    c:close()
end

local function foreign_record(server)
    local c = assert(fcgi.connect(server.address))
    local params = fcgi.encode_params(fcgi.params("/hello?name=mine"))
    c:send(fcgi.begin(1) .. fcgi.record(fcgi.PARAMS, 9, "") .. fcgi.stream(fcgi.PARAMS, 1, params)
        .. fcgi.record(fcgi.STDIN, 1, ""))
    local answer = c:answer(1, 3)
    t.is(answer.body, "<h1>Hello mine</h1>", "an empty PARAMS record of another id changes nothing")
    c:close()
end

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 2 }
    ids(server)
    closes(server, "BEGIN with id 0", fcgi.begin(0))
    closes(server, "version 9", fcgi.record(fcgi.BEGIN, 1, "\0\1\0\0\0\0\0\0", 0, 9))
    closes(server, "version 9 on an open connection", fcgi.record(fcgi.BEGIN, 1, "\0\1\0\0\0\0\0\0", 0, 9), true)
    closes(server, "BEGIN with a body of 7 bytes", fcgi.record(fcgi.BEGIN, 1, "\0\1\0\0\0\0\0"))
    closes(server, "an HTTP request", "GET /hello?name=x HTTP/1.1\r\nHost: localhost\r\n\r\n", true)
    closes(server, "64 kB of random bytes", fcgi.noise(65536, 4))
    closes(server, "random bytes behind a right version", "\1" .. fcgi.noise(65536, 5))
    get_values(server)
    unknown_type(server)
    foreign_record(server)
    server:unchanged()
    server:stop()
end)
t.done()
