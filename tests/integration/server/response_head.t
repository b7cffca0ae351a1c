#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Heads of answers: long ones, statuses with and without a body, headers that a
-- handler may not set. Nothing a handler writes can break the head apart.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
t.need("nginx", "curl")

local twins = { "/answer", "/lua/answer" }

local function sizes(server, front, path)
    for _, size in ipairs { 3000, 5000 } do
        local answer = front:get(path .. "?head=" .. size)
        t.ok(answer.status == 200 and answer.headers["x-long"] == ("h"):rep(size) and answer.body == "abcde",
            "a header of " .. size .. " bytes passes", tostring(answer.status))
    end
    local before = select(2, front:error_log():gsub("%[error%]", ""))
    local answer = front:get(path .. "?head=40000")
    local errors = select(2, front:error_log():gsub("%[error%]", "")) - before
    t.ok((answer.status == 502 or answer.status == 500) and errors <= 1,
        "a header of 40,000 bytes: one error, at most one line of nginx's",
        tostring(answer.status) .. " with " .. errors .. " lines")
    t.is(front:get(path).body, "abcde", "the next request is not affected")
    t.is(server:get(path .. "?head=3000", { keep = true }).headers["x-long"], ("h"):rep(3000),
        "straight, a header of 3,000 bytes")
end

local function statuses(front, path)
    for _, status in ipairs { 200, 201, 301, 400, 403, 404, 410, 500, 503, 599 } do
        local answer = front:get(path .. "?status=" .. status)
        t.ok(answer.status == status and answer.body == "abcde", "status " .. status .. " and its body",
            tostring(answer.status) .. " " .. answer.body)
    end
    for _, status in ipairs { 204, 304 } do
        local answer = front:get(path .. "?status=" .. status)
        t.ok(answer.status == status and answer.body == "" and answer.exit == 0,
            "status " .. status .. " has no body", tostring(answer.status) .. " " .. answer.body)
    end
    for _, status in ipairs { 205 } do
        local answer = front:get(path .. "?status=" .. status)
        t.ok(answer.status == status and answer.body == "", "status 205 has no body", tostring(answer.status) .. " " .. answer.body)
    end
    for _, status in ipairs { 99, 100, 600, 0 } do
        t.is(front:get(path .. "?status=" .. status).status, 500, "status " .. status .. " is refused")
    end
end

-- What a handler passes on from a request must not become a header of its own.
local function injection(server, path)
    for name, value in pairs {
        ["X-A%0D%0AX-Evil"] = "1", ["X-B"] = "1%0D%0AX-Evil:+1", ["X-C"] = "1%0AX-Evil:+1",
        ["X-D"] = "1%0DX-Evil:+1",
        ["X-H"] = "X-Evil%01", ["X-I"] = "X-Evil%7F", ["X-J"] = "X-Evil%1B[2J", ["X%3A-E"] = "X-Evil", ["X+G"] = "X-Evil", [""] = "X-Evil",
    } do
        local answer = server:get(path .. "?name=" .. name .. "&value=" .. value)
        t.ok(answer.complete and not answer.headers["x-evil"] and not answer.head:find("\n[^\r\n]*Evil:"),
            "refused: header " .. name .. " = " .. value, answer.head)
        t.ok(answer.status == 400 or answer.status == 500, "and the handler is told: " .. name .. " = " .. value,
            tostring(answer.status))
    end
    -- For a C handler the value ends at the NUL; a Lua handler is refused.
    local cut = server:get(path .. "?name=X-F&value=1%00X-Evil:+1")
    t.ok(cut.complete and not cut.head:find("Evil"), "nothing behind an encoded NUL gets into the head", cut.head)
    t.is(server:get(path .. "?name=X-Tab&value=a%09b").headers["x-tab"], "a\tb", "a tab passes")
    t.is(server:get(path .. "?name=X-High&value=%C3%A9").headers["x-high"], "\195\169", "bytes over 127 pass")
    for status, reason in pairs { [203] = "Non-Authoritative Information", [205] = "Reset Content", [416] = "Range Not Satisfiable",
        [451] = "Unavailable For Legal Reasons", [511] = "Network Authentication Required", [299] = "Unknown" } do
        t.is(server:get(path .. "?status=" .. status).headers.status, status .. " " .. reason, "the reason of " .. status)
    end
    local answer = server:get(path .. "?name=X-Fine&value=one+two")
    t.is(answer.headers["x-fine"], "one two", "an ordinary header passes")
end

t.each_engine(function(engine)
    local server = t.server.start {
        engine = engine, children = 1,
        routes = { "/answer=" .. t.fixture("answer.so"), "/lua/answer=" .. t.fixture("answer.lua") },
    }
    local front = t.front.nginx {
        fcgi = server.address, keepalive = engine == "event" and 4 or nil,
        location = "      fastcgi_buffer_size 16k;\n      fastcgi_buffers 8 16k;\n",
    }
    for _, path in ipairs(twins) do
        t.case(path, function()
            sizes(server, front, path)
            statuses(front, path)
            injection(server, path)
            local big = front:get(path .. "?bytes=1000000")
            t.ok(#big.body == 1000000 and big.body:sub(-5) == ("abcdefghijklmnopqrstuvwxyz"):rep(38462):sub(999996, 1000000),
                "a body of 1,000,000 bytes is whole", #big.body .. " bytes")
        end)
    end
    front:stop()
    server:unchanged("one child answered all of it", { log = { "refused", "header", "status", "answer%.%a+:%d+" } })
    server:stop()
end)
t.done()
