#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Every route of the sample configuration answers byte for byte as documented,
-- through nginx, Apache and lighttpd, from both engines.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
t.need("curl", "nginx")

local function table_page(max)
    local parts = { "<table>" }
    for row = 0, max - 1 do
        parts[#parts + 1] = "<tr>"
        for column = 0, row - 1 do
            parts[#parts + 1] = "<td>" .. row .. " " .. column .. "</td>"
        end
        parts[#parts + 1] = "</tr>"
    end
    parts[#parts + 1] = "</table>"
    return table.concat(parts)
end
assert(#table_page(99) == 67840)

local TEXT, HTML = "^text/plain", "^text/html; charset=utf%-8$"
local pages = {
    { "/echo", "hello world\n", TEXT },
    { "/light", "echo", TEXT },
    { "/david", "Hello, david!\n", TEXT },
    { "/hello?name=john", "<h1>Hello john</h1>", HTML },
    { "/hello?name=%3Cb%3E%26%22%27", "<h1>Hello &lt;b&gt;&amp;&quot;&#39;</h1>", HTML },
    { "/hello?name=J%C3%BCrgen+K", "<h1>Hello Jürgen K</h1>", HTML },
    { "/sleep?ms=1", "slept 1 ms\n", TEXT },
    { "/table", table_page(99), HTML },
    { "/table?max=0", table_page(0), HTML },
    { "/table?max=1", table_page(1), HTML },
    { "/table?max=250", table_page(250), HTML },
    { "/lua/echo", "hello world\n", TEXT },
    { "/lua/hello?name=john", "<h1>Hello john</h1>", HTML },
    { "/lua/hello?name=%3Cb%3E%26%22%27", "<h1>Hello &lt;b&gt;&amp;&quot;&#39;</h1>", HTML },
    { "/lua/hello?name=J%C3%BCrgen+K", "<h1>Hello Jürgen K</h1>", HTML },
    { "/lua/sleep?ms=1", "slept 1 ms\n", TEXT },
    { "/lua/table", table_page(99), HTML },
    { "/lua/table?max=250", table_page(250), HTML },
    { "/ping", "pong", "^text/plain" },
}

local function check_pages(front)
    for _, page in ipairs(pages) do
        local path, body, kind = unpack(page)
        local answer = front:get(path)
        local same = answer.body == body or (path == "/ping" and answer.body == "pong\n")
        t.ok(answer.status == 200 and same and (answer.headers["content-type"] or ""):find(kind)
            and tonumber(answer.headers["content-length"] or #body) == #answer.body, path,
            ("%s %s, %d bytes: %s"):format(answer.status, answer.headers["content-type"], #answer.body,
                answer.body:sub(1, 200)))
    end
end

local function check_head(front)
    for _, path in ipairs { "/echo", "/lua/table" } do
        local answer = front:get(path, { head = true })
        t.ok(answer.exit == 0 and answer.status == 200, "HEAD " .. path, answer.head .. answer.error)
        local length = answer.headers["content-length"]
        t.ok(length == nil or tonumber(length) == (path == "/echo" and 12 or 67840),
            "HEAD " .. path .. " tells no wrong length", answer.head)
    end
end

local function check_post(front)
    local body = t.fcgi.noise(1048576, 11)
    for _, path in ipairs { "/body", "/lua/body" } do
        local answer = front:get(path, { body = body })
        t.ok(answer.body == body, "POST of 1 MB to " .. path,
            ("%s, %d bytes"):format(answer.status, #answer.body))
        answer = front:get(path .. "?count=1", { body = "", method = "POST" })
        t.is(answer.body, "0\n", "empty POST to " .. path)
        answer = front:get(path .. "?skip=1", { body = body })
        t.is(answer.body, "skipped\n", "a body left unread by " .. path)
    end
    t.is(front:get("/hello?name=after").body, "<h1>Hello after</h1>", "the next request is a clean one")
end

local function check_errors(front)
    local answer = front:get("/no/such/page")
    t.is(answer.status, 404, "an unknown path is 404")
    answer = front:get("/dies?how=fail")
    t.is(answer.status, 500, "a failing C handler is 500")
    t.ok(not answer.body:find("secret"), "its reason is not shown", answer.body)
    answer = front:get("/lua/errors?how=text")
    t.is(answer.status, 500, "a failing Lua handler is 500")
    t.ok(not answer.body:find("plain text"), "its message is not shown", answer.body)
end

local function check_globals(front)
    local answer = front:get("/lua/globals")
    t.ok(answer.status == 200 and answer.body:find("string") and answer.body:find("math"),
        "/lua/globals lists the global variables", answer.body:sub(1, 300))
    t.is(front:get("/lua/globals").body, answer.body, "/lua/globals is the same every time")
end

t.each_engine(function(engine)
    local server = t.server.start {
        engine = engine, children = 3,
        routes = {
            "/body=" .. t.fixture("body.so"), "/lua/body=" .. t.fixture("body.lua"),
            "/dies=" .. t.fixture("dies.so"), "/lua/errors=" .. t.fixture("errors.lua"),
        },
    }
    for _, kind in ipairs(t.front.kinds) do
        local program = kind == "apache" and "apache2" or kind
        if t.missing(program) then
            t.skip(kind, t.missing(program))
        else
            t.case(kind, function()
                local front = t.front[kind] { fcgi = server.address }
                check_pages(front)
                check_head(front)
                check_post(front)
                check_errors(front)
                check_globals(front)
                front:stop()
            end)
        end
    end
    local log = server:log_text()
    t.like(log, "dies%.c:%d+: asked to fail", "the log names file and line of the C handler's failure")
    t.like(log, "errors%.lua:%d+: a plain text", "the log names file and line of the Lua error")
    server:unchanged("after all pages", { log = { "asked to fail", "a plain text" } })
    local how, code, seconds = server:stop("TERM")
    t.ok(how == "exited" and code == 0 and seconds < 3, "stops with status 0",
        ("%s %s after %.1f s"):format(tostring(how), tostring(code), seconds))
end)
t.done()
