#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A request that was cut short or aborted is never served as a whole one.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi = t.fcgi

local pair = fcgi.pair("QUERY_STRING", "name=cut") .. fcgi.pair("REQUEST_METHOD", "GET")
    .. fcgi.pair("SCRIPT_NAME", "/hello")

-- Sends, half-closes unless <open>, and reads to the end.
local function exchange(server, bytes, open)
    local c = assert(fcgi.connect(server.address))
    c:send(bytes)
    if not open then
        c:half_close()
    end
    local start = t.now()
    local output, closed = c:read_all(open and 1.5 or 3)
    c:close()
    local result = { closed = closed, seconds = t.now() - start, stdout = "", output = output }
    for _, record in ipairs((fcgi.records(output))) do
        if record.type == fcgi.STDOUT then
            result.stdout = result.stdout .. record.content
        elseif record.type == fcgi.END then
            result.ended = record.content:byte(5)
        end
    end
    return result
end

local function not_served(server, name, bytes)
    local result = exchange(server, bytes)
    t.ok(result.stdout == "" and (result.closed or result.ended), name .. ": no page, and a prompt end",
        ("closed %s, end %s: %q"):format(tostring(result.closed), tostring(result.ended), result.stdout))
    server:unchanged(name .. ": after it")
end

local function roles(server)
    local whole = fcgi.stream(fcgi.PARAMS, 1, pair) .. fcgi.record(fcgi.STDIN, 1, "")
    local result = exchange(server, fcgi.begin(1, { role = 9 }) .. whole, true)
    t.ok(result.stdout == "" and (result.ended == fcgi.UNKNOWN_ROLE or result.closed),
        "role 9 is refused as unknown", ("%q"):format(result.output:sub(1, 60)))
    result = exchange(server, fcgi.begin(1, { role = fcgi.AUTHORIZER }) .. whole, true)
    t.ok(result.stdout == "" and (result.ended == fcgi.UNKNOWN_ROLE or result.closed),
        "the authorizer's role is refused as unknown", ("%q"):format(result.output:sub(1, 60)))
    server:unchanged("after roles")
end

-- A counting handler tells whether anything ran: its answers are numbered.
local function cut_bodies(server)
    local params = fcgi.params("/body?count=1", { method = "POST", body = ("b"):rep(100) })
    local head = fcgi.begin(1) .. fcgi.stream(fcgi.PARAMS, 1, fcgi.encode_params(params))
    not_served(server, "a body cut inside its record", head .. fcgi.record(fcgi.STDIN, 1, ("b"):rep(100)):sub(1, 60))
    not_served(server, "a body without its end", head .. fcgi.record(fcgi.STDIN, 1, ("b"):rep(50)))
    not_served(server, "a body shorter than CONTENT_LENGTH says, then the end of the connection",
        head .. fcgi.record(fcgi.STDIN, 1, ("b"):rep(99)))
end

t.each_engine(function(engine)
    local server = t.server.start {
        engine = engine, children = 2, routes = { "/body=" .. t.fixture("body.so") },
    }
    local begin = fcgi.begin(1)
    local params = fcgi.record(fcgi.PARAMS, 1, pair)
    not_served(server, "no end of the parameters", begin .. params)
    not_served(server, "ABORT before the parameters end", begin .. params .. fcgi.record(fcgi.ABORT, 1, ""))
    not_served(server, "ABORT after the parameters ended",
        begin .. params .. fcgi.record(fcgi.PARAMS, 1, "") .. fcgi.record(fcgi.ABORT, 1, ""))
    not_served(server, "the end inside a pair", begin .. fcgi.record(fcgi.PARAMS, 1, pair:sub(1, -4)))
    not_served(server, "a record header cut", begin .. params:sub(1, 5))
    not_served(server, "a pair cut, but the stream ended",
        begin .. fcgi.stream(fcgi.PARAMS, 1, pair .. fcgi.pair("NAME", "value"):sub(1, -3)))
    not_served(server, "a record of type 77 for the live id",
        begin .. params .. fcgi.record(77, 1, "what") .. fcgi.record(fcgi.PARAMS, 1, "") .. fcgi.record(fcgi.STDIN, 1, ""))
    roles(server)
    cut_bodies(server)
    server:stop()
end)
t.done()
