#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- handlers/lib/web.lua in handlers of a folder of one's own: forms, cookies, redirects, JSON, whole bodies.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi = require("fcgi")

-- With a parameter more, such as HTTP_COOKIE.
local function ask(server, page, options, name, value)
    options = options or {}
    local params = fcgi.params("/web?page=" .. page, options)
    params[#params + 1] = name and { name, value }
    return fcgi.get(server.address, "", { params = params, body = options.body })
end

local function post(server, page, body, kind)
    return ask(server, page, { method = "POST", body = body, content_type = kind or "application/x-www-form-urlencoded" })
end

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 1, routes = { "/web=" .. t.fixture("web.lua") } }
    t.is(ask(server, "args&a=1&b=x+y%26&a=2&c&=e").body, "[]=[e][a]=[1][b]=[x y&][c]=[][page]=[args]\n", "args")
    t.is(post(server, "form", "name=J%C3%BCrgen&a+b=c%3Dd&name=x").body, "[a b]=[c=d][name]=[J\195\188rgen]\n", "form")
    t.is(post(server, "form", "a=1", "Application/X-WWW-Form-URLencoded; charset=utf-8").body, "[a]=[1]\n",
        "the type may be written in any way")
    t.is(post(server, "form", "a=1", "text/plain").body,
        "nil the body is 'text/plain', expected application/x-www-form-urlencoded", "another type has a reason")
    t.is(post(server, "form", "a=" .. ("x"):rep(200)).body, "nil the body is longer than 100 bytes", "a form too long")
    t.is(post(server, "read", ("x"):rep(99997) .. "end").body, "100000 end", "a whole body of 100,000 bytes")
    t.is(post(server, "read", ("x"):rep(100001)).body, "nil the body is longer than 100000 bytes", "and no more")
    t.is(post(server, "read", "").body, "0 ", "an empty body")
    t.is(ask(server, "cookies", nil, "HTTP_COOKIE", 'a=1; b="q r"; a=2;c=%C3%A9+;d; =e').body,
        "[]=[e][a]=[1][b]=[q r][c]=[\195\169+][d]=[]\n", "cookies")
    t.is(ask(server, "cookies").body, "\n", "no cookies")
    local set = ask(server, "set")
    t.ok(set.head:find("Set-Cookie: id=a%3Bb%20%C3%A9; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Lax\r\n", 1, true)
        and set.head:find("Set-Cookie: plain=x; Path=/app; Domain=example.org; SameSite=Strict\r\n", 1, true),
        "two cookies are set", set.head)
    t.is(ask(server, "cookies", nil, "HTTP_COOKIE", "id=a%3Bb%20%C3%A9").body, "[id]=[a;b \195\169]\n", "and come back")
    local bad = ask(server, "set_bad").body
    t.ok(bad:find("'a b' is not a name of a cookie") and bad:find("';' in 'Path=/;x'", 1, true), "bad cookies are errors", bad)
    local there = ask(server, "redirect&to=/there%3Fa=b%20c%0D%0AX-Evil:%201")
    t.ok(there.status == 303 and there.headers.location == "/there?a=b%20c%0D%0AX-Evil:%201" and not there.headers["x-evil"],
        "a redirect, escaped", there.head)
    t.is(ask(server, "redirect&to=/x&status=301").status, 301, "with a status of one's own")
    if pcall(require, "cjson") then
        local json = ask(server, "json")
        t.ok(json.status == 201 and json.headers["content-type"] == "application/json", "JSON has its type and status", json.head)
        local value = require("cjson").decode(json.body)
        t.ok(value.list[2] == 2 and value.text == "h\195\169" and value.none == require("cjson").null, "and its value", json.body)
        t.like(ask(server, "json_bad").body, "^nil ", "what cannot be JSON has a reason")
        t.is(post(server, "read_json", '{"a": [1], "b": null}', "application/json").body:gsub("0x%x+", "P"), "table: P true",
            "JSON is read")
        t.like(post(server, "read_json", "{", "application/json").body, "^nil Expected", "what is not JSON has a reason")
    end
    server:unchanged()
    server:stop()
end)
t.done()
