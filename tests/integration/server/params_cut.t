#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Parameters arrive whole however their stream is cut into records, writes,
-- padding and length forms.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi = t.fcgi
t.need("nginx", "curl")

local function request_of(params, options)
    options = options or {}
    return fcgi.begin(1, options) .. fcgi.stream(fcgi.PARAMS, 1, params, options.size, options.padding)
        .. fcgi.stream(fcgi.STDIN, 1, "", nil, options.padding)
end

local function pairs_for(path, query, before, after)
    local list = { before or "" }
    for _, pair in ipairs(fcgi.params(path)) do
        list[#list + 1] = fcgi.pair(pair[1], pair[1] == "QUERY_STRING" and query or pair[2])
    end
    list[#list + 1] = after or ""
    return table.concat(list)
end

local function ask(server, bytes, in_pieces)
    local c = assert(fcgi.connect(server.address))
    if in_pieces then
        for index = 1, #bytes do
            c:send(bytes:sub(index, index))
        end
    else
        c:send(bytes)
    end
    local answer = c:answer(1, 10)
    c:close()
    return answer
end

local function greets(server, name, bytes, value, in_pieces)
    local answer = ask(server, bytes, in_pieces)
    local wanted = "<h1>Hello " .. value .. "</h1>"
    t.ok(answer.body == wanted, name, ("status %s, %d bytes, end %q"):format(tostring(answer.status),
        #(answer.body or ""), (answer.body or ""):sub(-20)))
end

local function long_query(server)
    local value = ("v"):rep(199990) .. "end"
    local bytes = request_of(pairs_for("/hello", "name=" .. value), { size = 65535 })
    local answer = ask(server, bytes)
    t.ok(answer.body == "<h1>Hello " .. value .. "</h1>",
        "a query of 200,000 bytes, cut inside the value", ("status %s, %d bytes"):format(
            tostring(answer.status), #(answer.body or "")))
    value = ("v"):rep(400000)
    answer = ask(server, request_of(pairs_for("/hello", "name=" .. value), { size = 65535 }))
    t.ok(answer.status == 431 or answer.body == "<h1>Hello " .. value .. "</h1>",
        "beyond the limit for parameters: a clean 431", answer.stdout:sub(1, 200))
end

local function lengths(server)
    for _, size in ipairs { 126, 127, 128, 255, 256 } do
        local value = ("x"):rep(size - 5)
        local extra = fcgi.pair(("N"):rep(size), ("w"):rep(size))
        greets(server, "names and values of " .. size .. " bytes",
            request_of(pairs_for("/hello", "name=" .. value, extra)), value)
    end
    local params = fcgi.pair("QUERY_STRING", "name=z", true)
    for _, pair in ipairs(fcgi.params("/hello")) do
        if pair[1] ~= "QUERY_STRING" then
            params = params .. fcgi.pair(pair[1], pair[2], true)
        end
    end
    greets(server, "short lengths in the four-byte form", request_of(params), "z")
end

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 2 }
    local plain = pairs_for("/hello", "name=plain")
    long_query(server)
    greets(server, "one byte a write", request_of(plain), "plain", true)
    greets(server, "records of one byte each", request_of(plain, { size = 1 }), "plain")
    greets(server, "padding of 255 and 7 bytes", request_of(plain, { padding = 255, size = 100 }), "plain")
    local tiny = {}
    for index = 1, 500 do
        tiny[index] = fcgi.pair("T" .. index, "v")
    end
    greets(server, "500 small pairs before the query",
        request_of(pairs_for("/hello", "name=late", table.concat(tiny))), "late")
    lengths(server)
    greets(server, "a pair with an empty name",
        request_of(pairs_for("/hello", "name=a", fcgi.pair("", "value"))), "a")
    greets(server, "an empty pair",
        request_of(pairs_for("/hello", "name=b", fcgi.pair("", ""), fcgi.pair("", ""))), "b")
    greets(server, "every cut between two records of parameters", request_of(plain, { size = 7 }), "plain")
    t.case("through nginx", function()
        local front = t.front.nginx { fcgi = server.address }
        for _, size in ipairs { 1000, 7900, 8100, 60000 } do
            local value = ("q"):rep(size)
            local answer = front:get("/hello?name=" .. value)
            t.ok(answer.status == 414 or answer.body == "<h1>Hello " .. value .. "</h1>",
                "a name of " .. size .. " bytes is answered, or refused by nginx with 414",
                tostring(answer.status))
        end
        front:stop()
    end)
    server:unchanged()
    server:stop()
end)
t.done()
