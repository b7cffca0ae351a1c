#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The server behind nginx, Apache (connections reused and not), lighttpd and cgi-fcgi:
-- every method that makes sense, bodies of awkward sizes up and down, byte for byte.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local sizes = { 0, 1, 8191, 8192, 65535, 65536, 10485760 }
local noise = t.fcgi.noise(10485760, 3)
local pattern = ("abcdefghijklmnopqrstuvwxyz"):rep(403299):sub(1, 10485760)

local fronts = {
    { "nginx", "nginx", {} },
    { "nginx with kept connections", "nginx", { keepalive = 4 } },
    { "Apache, connections not reused", "apache", { reuse = false } },
    { "Apache, connections reused", "apache", { reuse = true } },
    { "lighttpd", "lighttpd", {} },
}

local function exchange(front, path)
    for _, size in ipairs(sizes) do
        local up = noise:sub(1, size)
        local answer = front:get(path .. "/body", { method = "POST", body = up, timeout = 30 })
        t.ok(answer.status == 200 and answer.body == up, path .. ": " .. size .. " bytes up and back",
            ("%s, %d bytes, %s"):format(tostring(answer.status), #answer.body, answer.error))
        answer = front:get(path .. "/answer?bytes=" .. size, { timeout = 30 })
        t.ok(answer.status == 200 and answer.body == pattern:sub(1, size), path .. ": " .. size .. " bytes down",
            ("%s, %d bytes, %s"):format(tostring(answer.status), #answer.body, answer.error))
    end
end

local function methods(front, path)
    for _, method in ipairs { "GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS" } do
        local options = { method = method }
        if method == "POST" or method == "PUT" or method == "PATCH" then
            options.body = "x=1"
        end
        t.is(front:get(path .. "/body?method=1", options).body, method .. "\n", path .. ": method " .. method)
    end
    local answer = front:get(path .. "/answer?bytes=70000", { head = true })
    t.ok(answer.status == 200 and answer.exit == 0, path .. ": HEAD of a large page", answer.head)
    t.is(front:get(path .. "/answer?bytes=3").body, "abc", path .. ": and the next answer is whole")
end

local function by_cgi_fcgi(server)
    if t.missing("cgi-fcgi") then
        t.skip("cgi-fcgi", t.missing("cgi-fcgi"))
        return
    end
    local result = process.run {
        "cgi-fcgi", "-bind", "-connect", server.socket,
        env = { REQUEST_METHOD = "GET", SCRIPT_NAME = "/hello", QUERY_STRING = "name=cli" },
    }
    t.like(result.out, "\r\n\r\n<h1>Hello cli</h1>$", "driven by cgi-fcgi: GET")
    result = process.run {
        "cgi-fcgi", "-bind", "-connect", server.socket, input = ("b"):rep(20000),
        env = { REQUEST_METHOD = "POST", SCRIPT_NAME = "/body", QUERY_STRING = "count=1", CONTENT_LENGTH = "20000" },
    }
    t.like(result.out, "\r\n\r\n20000\n$", "driven by cgi-fcgi: POST of 20,000 bytes")
end

local SHORT = os.getenv("SHORT")

t.each_engine(function(engine)
    for _, transport in ipairs { "unix", "tcp" } do
        local server = t.server.start {
            engine = engine, children = 3,
            address = transport == "tcp" and "127.0.0.1:" .. t.free_port() or nil,
            routes = {
                "/body=" .. t.fixture("body.so"), "/lua/body=" .. t.fixture("body.lua"),
                "/answer=" .. t.fixture("answer.so"), "/lua/answer=" .. t.fixture("answer.lua"),
            },
        }
        for _, row in ipairs(fronts) do
            local name, kind, options = unpack(row)
            if SHORT and transport == "tcp" and not options.keepalive then
                t.skip(transport .. ": " .. name, "the short form has one web server over TCP")
            elseif t.missing(kind == "apache" and "apache2" or kind) then
                t.skip(name, t.missing(kind == "apache" and "apache2" or kind))
            else
                t.case(transport .. ": " .. name, function()
                    options.fcgi = server.address
                    local front = t.front[kind](options)
                    exchange(front, "")
                    methods(front, "")
                    if transport == "unix" then
                        exchange(front, "/lua")
                        methods(front, "/lua")
                    end
                    front:stop()
                end)
            end
        end
        if transport == "unix" then
            by_cgi_fcgi(server)
        end
        server:unchanged(transport .. ": after all of it", { fd_s = 10 })
        server:stop()
    end
end)
t.done()
