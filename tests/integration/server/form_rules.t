#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The rules of forms: plus signs, repeated, empty and missing keys; markup is
-- escaped; no parameter is configured twice in a shipped configuration.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi = t.fcgi

local cases = {
    { "name=a+b", "a b" }, { "name=a%2Bb", "a+b" }, { "name=a&name=b", "a" }, { "name=", "world" },
    { "name", "world" }, { "", "world" }, { "fa&name=x", "x" }, { "xname=bad&name=good", "good" },
    { "&&name=x&", "x" }, { "name=a=b", "a=b" }, { "NAME=x", "world" }, { "n%61me=x", "x" },
    { "name=<script>x</script>", "&lt;script&gt;x&lt;/script&gt;" }, { [[name="']], "&quot;&#39;" },
    { "name=%26amp;", "&amp;amp;" }, { "=x&name=y", "y" }, { "name=x;y=z", "x;y=z" }, { "names=bad", "world" },
}

local function params_twice(server, path)
    local params = {}
    for _, pair in ipairs(fcgi.params(path .. "?name=first")) do
        params[#params + 1] = pair
    end
    table.insert(params, 3, { "QUERY_STRING", "name=second" })
    params[#params + 1] = { "QUERY_STRING", "name=third" }
    local c = fcgi.connect(server.address)
    c:send(fcgi.request { params = params })
    local answer = c:answer(1, 3)
    c:close()
    t.is(answer.body, "<h1>Hello first</h1>", path .. ": of a parameter sent twice the first counts")
end

-- A body and what CONTENT_LENGTH says of it.
local function post(server, path, length, body)
    local params = fcgi.params(path, { method = "POST" })
    for i, pair in ipairs(params) do
        params[i] = pair[1] == "CONTENT_LENGTH" and { pair[1], length } or pair
    end
    return fcgi.get(server.address, path, { params = params, body = body })
end

local function lengths(server)
    for _, path in ipairs { "/body", "/lua/body" } do
        local answer = post(server, path, "-1", "of unknown length")
        t.is(answer.body, "of unknown length", path .. ": CONTENT_LENGTH -1 ends with the body")
        t.is(post(server, path .. "?count=1", "-1", ("x"):rep(300000)).body, "300000\n", path .. ": also a long one")
        t.is(post(server, path .. "?count=1", "-1", "").body, "0\n", path .. ": also an empty one")
        for _, case in ipairs {
            { "5", "1234", "CONTENT_LENGTH is 5, the body that came has 4 bytes" },
            { "3", "1234", "CONTENT_LENGTH is 3, the body that came has 4 bytes" },
            { "7", "", "CONTENT_LENGTH is 7, the body that came has 0 bytes" },
            { "ten", "1234567890", "CONTENT_LENGTH 'ten' is not a length" },
            { "-2", "", "CONTENT_LENGTH '-2' is not a length" },
            { "+4", "1234", "CONTENT_LENGTH '+4' is not a length" },
            { "4 ", "1234", "CONTENT_LENGTH '4 ' is not a length" },
            { "99999999999999999999999", "1", "CONTENT_LENGTH '99999999999999999999999' is not a length" },
        } do
            local length, body, reason = unpack(case)
            local before = #server:log_text()
            t.is(post(server, path, length, body).status, 400, ("%s: CONTENT_LENGTH %q with %d bytes"):format(path, length, #body))
            t.process.poll(2, function()
                return server:log_text():find(reason, before, true)
            end)
            t.ok(server:log_text():find("POST " .. path .. ": answered 400: " .. reason, before, true), "the log says why: " .. reason,
                server:log_text():sub(before))
        end
    end
end

local function empty_length(server)
    for _, length in ipairs { "", "0" } do
        local params = fcgi.params("/body?count=1", { method = "POST" })
        for _, pair in ipairs(params) do
            if pair[1] == "CONTENT_LENGTH" then
                pair[2] = length
            end
        end
        local c = fcgi.connect(server.address)
        c:send(fcgi.request { params = params })
        t.is(c:answer(1, 3).body, "0\n", ("CONTENT_LENGTH %q is a body of 0 bytes"):format(length))
        c:close()
    end
end

-- Within one block of braces, and with what it includes.
local function configured_twice(path)
    local seen, twice, depth = { {} }, {}, 1
    for line in (t.read_file(path) or ""):gmatch("[^\n]+") do
        line = line:gsub("#.*", "")
        local name = line:match("fastcgi_param%s+(%S+)")
        if name then
            if seen[depth][name] then
                twice[#twice + 1] = name
            end
            seen[depth][name] = true
        end
        for brace in line:gmatch("[{}]") do
            depth = brace == "{" and depth + 1 or math.max(1, depth - 1)
            seen[depth] = brace == "{" and {} or seen[depth] or {}
        end
    end
    return twice
end

t.each_engine(function(engine)
    local server = t.server.start {
        engine = engine, children = 1, routes = { "/body=" .. t.fixture("body.so"), "/lua/body=" .. t.fixture("body.lua") },
    }
    for _, case in ipairs(cases) do
        local wanted = "<h1>Hello " .. case[2] .. "</h1>"
        for _, path in ipairs { "/hello", "/lua/hello" } do
            t.is(server:get(path .. "?" .. case[1]).body, wanted, path .. "?" .. case[1])
        end
    end
    params_twice(server, "/hello")
    params_twice(server, "/lua/hello")
    empty_length(server)
    lengths(server)
    server:unchanged()
    server:stop()
end)

local list = t.process.run { "find", t.root .. "/conf", "-type", "f" }
for path in list.out:gmatch("[^\n]+") do
    local twice = configured_twice(path)
    t.ok(#twice == 0, "no parameter twice in " .. path:match("conf/.*$"), table.concat(twice, " "))
end
t.done()
