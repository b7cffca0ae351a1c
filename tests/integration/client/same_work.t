#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The same options mean the same work over HTTP and over FastCGI: one page behind nginx and behind
-- the load client itself gets the same method, type, length, headers and body.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, load, process = t.fcgi, t.load, t.process

local body = t.dir .. "/body"
process.write_file(body, "a=1&b=2")

-- What an application sees of one request: parameters by name, and the body under "body".
local function seen_by_application(speaks_fcgi, ...)
    local file = t.dir .. "/seen"
    local server = t.scripted.start {
        fcgi = speaks_fcgi,
        answer = function(_, request)
            process.write_file(file, request)
            if speaks_fcgi then
                return fcgi.record(fcgi.STDOUT, 1, "\r\n\r\nok") .. fcgi.record(fcgi.END, 1, ("\0"):rep(8))
            end
            return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        end,
    }
    local result = process.run { load.program, "-q", server.url .. "page?a=b", ... }
    server:stop()
    local request, seen = process.read_file(file), {}
    if not speaks_fcgi then
        local head
        head, seen.body = request:match("^(.-)\r\n\r\n(.*)$")
        seen.REQUEST_METHOD = head:match("^%S+")
        for name, text in head:gmatch("\r\n([^:]+):[ \t]*([^\r]*)") do
            local value = text:gsub("%s+$", "")
            local key = name:upper():gsub("-", "_")
            key = (key == "CONTENT_TYPE" or key == "CONTENT_LENGTH") and key or "HTTP_" .. key
            seen[key] = seen[key] and seen[key] .. (key == "HTTP_COOKIE" and "; " or ", ") .. value or value
        end
        return seen, result
    end
    local streams = { [fcgi.PARAMS] = "", [fcgi.STDIN] = "" }
    for _, record in ipairs((fcgi.records(request))) do
        if streams[record.type] then
            streams[record.type] = streams[record.type] .. record.content
        end
    end
    local at, params = 1, streams[fcgi.PARAMS]
    local function length()
        local first = params:byte(at)
        at = at + 1
        if first < 128 then
            return first
        end
        local b, c, d = params:byte(at, at + 2)
        at = at + 3
        return (first - 128) * 2 ^ 24 + b * 2 ^ 16 + c * 2 ^ 8 + d
    end
    while at <= #params do
        local name, value = length(), length()
        seen[params:sub(at, at + name - 1)] = params:sub(at + name, at + name + value - 1)
        at = at + name + value
    end
    seen.body = streams[fcgi.STDIN]
    return seen, result
end

local LONG = ("x"):rep(300)
for name, words in pairs {
    ["nothing"] = {},
    ["a body without a type is a form"] = { "-p", body },
    ["-T"] = { "-p", body, "-T", "text/x-lua" },
    ["-H Content-Type"] = { "-p", body, "-H", "Content-Type: application/json" },
    ["-H content-type in small letters, blanks around"] = { "-p", body, "-H", "content-type:  application/json  " },
    ["-H Content-Type beside -T"] = { "-p", body, "-T", "text/plain", "-H", "Content-Type: application/json" },
    ["-T without a body"] = { "-T", "text/plain" },
    ["-H Content-Length"] = { "-m", "DELETE", "-H", "Content-Length: 0" },
    ["an empty body"] = { "-p", "/dev/null" },
    ["a method"] = { "-m", "PUT", "-p", body },
    ["HEAD"] = { "-i" },
    ["one header twice"] = { "-H", "X-A: 1", "-H", "x-a: 2", "-H", "Cookie: a=1", "-H", "Cookie: b=2" },
    ["Host"] = { "-H", "Host: example.com" },
    ["a long name"] = { "-H", "X-" .. LONG .. ": 1" },
} do
    local over_http = seen_by_application(false, unpack(words))
    local over_fcgi, result = seen_by_application(true, unpack(words))
    over_http.HTTP_CONNECTION = nil -- of the connection, not of the request
    if name ~= "Host" then
        over_http.HTTP_HOST, over_fcgi.HTTP_HOST = nil, nil -- the ports differ
    end
    for key, value in pairs(over_http) do
        t.is(over_fcgi[key], value, name .. ": " .. key:sub(1, 40))
    end
    for _, key in ipairs { "CONTENT_TYPE", "CONTENT_LENGTH" } do
        t.is(over_fcgi[key], over_http[key] or "", name .. ": " .. key .. ", no more than HTTP has")
    end
    t.ok(not over_fcgi.HTTP_CONTENT_TYPE and not over_fcgi.HTTP_CONTENT_LENGTH, name .. ": no second type", result.err)
end
t.is(seen_by_application(true, "-p", body).CONTENT_TYPE, "application/x-www-form-urlencoded", "a form over FastCGI")

-- What cannot be sent is refused with the remedy.
for words, reason in pairs {
    ["http://me:secret@127.0.0.1/"] = "%-H \"Authorization: Basic",
    ["fcgi://me:secret@127.0.0.1:9000/"] = "%-H \"Authorization: Basic",
    ["http://127.0.0.1/a\1b"] = "percent%-encoded",
} do
    local result = process.run { load.program, "-q", words }
    t.ok(result.status == 1 and result.err:find(reason), words:gsub("%c", "?") .. ": refused with the remedy", result.err)
    t.ok(not result.err:find("secret"), "and without the password", result.err)
end
for _, words in ipairs { { "-m", "GE T" }, { "-m", "GET\r\nX: y" }, { "-H", "A b: c" }, { "-H", ": c" }, { "-H", "A: b\r\nC: d" } } do
    local result = process.run { load.program, "-q", words[1], words[2], "http://127.0.0.1:1/" }
    t.ok(result.status == 1 and result.err:find("expected"), words[1] .. " " .. words[2]:gsub("%c", "?") .. ": refused", result.err)
end
t.done()
