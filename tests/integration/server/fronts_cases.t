#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- What users of the six web servers have run into with FastCGI applications, behind each of them as
-- shipped, on both engines. Each case names a public report of its kind.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local cjson = require("cjson")
local front = t.front

local CHILDREN = 4
local MIB = 1048576
local noise = t.fcgi.noise(5 * MIB, 11)

-- Sends <parts> (texts, and numbers of seconds to wait) and reads to the end.
local function exchange(web, ...)
    local c = assert(t.fcgi.connect("127.0.0.1:" .. web.port))
    for _, part in ipairs { ... } do
        if type(part) == "number" then
            t.process.pause(part)
        else
            c:send(part)
        end
    end
    local text = c:read_all(10)
    c:close()
    return text
end

local function body_of(text)
    return text:match("\r\n\r\n(.*)$")
end

local function get_raw(web, path, ...)
    return body_of(exchange(web, "GET " .. path .. " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" .. table.concat({ ... }) .. "\r\n"))
end

local cases = {}

-- php/php-src#19817, sympa-community/sympa#879: paths that are decoded twice, or split elsewhere.
function cases.paths(web)
    for path, wanted in pairs { ["/seen/a%2525b+c%20d"] = "/seen/a%25b+c d", ["/seen/%C3%A9;v=1"] = "/seen/\195\169;v=1",
        ["/seen/a%2Fb"] = "/seen/a/b" } do
        t.is(web:get(path .. "?path=1").body, wanted, path .. ": decoded once")
        t.is(web:get(path .. "?param=REQUEST_URI").body, path .. "?param=REQUEST_URI", path .. ": as it was sent")
    end
end

-- HAProxy's "option forwardfor" adds a line of its own: of two lines an application saw the client's only.
function cases.header_twice(web)
    local seen = get_raw(web, "/seen?param=HTTP_VIA", "Via: 1.1 one\r\n", "via: 1.1 two\r\n")
    t.like(seen, "^1%.1 one, ?1%.1 two", "two lines of a header are one list")
    t.like(get_raw(web, "/seen?param=HTTP_COOKIE", "Cookie: a=1\r\n", "Cookie: b=2\r\n"), "^a=1[;,] ?b=2$", "of cookies as well")
end

-- Of X-Real and X_Real only one can be HTTP_X_REAL. lighttpd and h2o pass on both, as their files say.
function cases.underscore(web)
    if web.kind ~= "lighttpd" and web.kind ~= "h2o" then
        t.is(get_raw(web, "/seen?param=HTTP_X_REAL", "X_Real: false\r\n", "X-Real: true\r\n"), "true", "a header with _ stays out")
    end
end

-- YanGusik/laravel-spawn#62: large answers cut for clients of HTTP/1.0.
function cases.http_1_0(web)
    local text = exchange(web, "GET /answer?bytes=4194304 HTTP/1.0\r\n\r\n")
    t.is(#body_of(text), 4 * MIB, "4 MiB over HTTP/1.0")
    t.ok(not text:match("^.-\r\n\r\n"):lower():find("chunked"), "not in chunks")
    t.is(body_of(exchange(web, "POST /body HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello")), "hello", "POST over HTTP/1.0")
end

-- facebook/hhvm#1384: the client waits in vain for its 100.
function cases.expect(web)
    local c = assert(t.fcgi.connect("127.0.0.1:" .. web.port))
    c:send("POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
    t.like(c:receive(10), "^HTTP/1.1 100 ", "100 Continue comes before the body is sent")
    c:send("hello")
    t.like(c:read_all(10), "HTTP/1.1 200 .*hello$", "then the answer")
    c:close()
end

-- owncloud/client#3816: "Broken pipe ... sending stdin", 502 or 503 instead of what the application said.
function cases.early_answer(web)
    if web.kind == "h2o" then
        return t.skip("an upload that the server refuses while it arrives", "h2o 2.2 ends itself; its limit-request-body is for that")
    end
    for i = 1, 3 do
        local answer = web:get("/body", { method = "POST", body = noise })
        t.is(answer.status, 413, "an upload that the server refuses while it arrives, " .. i)
    end
    t.is(web:get("/echo").body, "hello world\n", "the next answer")
end

-- h2o/h2o#951, hestiacp/hestiacp#4143: large heads distorted, or 502.
function cases.large_head(web)
    for _, size in ipairs { 3000, 8000 } do
        t.is(#(web:get("/answer?head=" .. size).headers["x-long"] or ""), size, "a header of " .. size .. " bytes")
    end
    t.is(web:get("/answer?head=30000").status, 500, "one that the server refuses is the handler's error, not a gateway's")
end

-- haproxy/haproxy#2150: HAProxy ends itself over what an application sends.
function cases.reserved_headers(web)
    for _, name in ipairs { "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade", "Status" } do
        t.is(web:get("/answer?value=chunked&name=" .. name).body, "refused\n", name .. " is not the handler's to send")
    end
    t.is(web:get("/echo").body, "hello world\n", "the next answer")
end

-- A handler's wrong Content-Length must not shift the answers behind it on the client's connection.
function cases.wrong_length(web)
    for _, length in ipairs { 3, 300000, 900000 } do
        local c = assert(t.fcgi.connect("127.0.0.1:" .. web.port))
        c:send(("GET /answer?bytes=600000&name=Content-Length&value=%d HTTP/1.1\r\nHost: x\r\n\r\n"):format(length))
        local text = c:receive(10) or ""
        c:send("GET /light HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        text = text .. c:read_all(5)
        c:close()
        local told, rest = text:match("^HTTP/1.-\r\n[Cc]ontent%-[Ll]ength: (%d+)\r\n.-\r\n\r\n(.*)$")
        told = tonumber(told) -- in chunks, or to the end of the connection, if there is none
        t.ok(not told or #rest <= told or rest:sub(told + 1, told + 9) == "HTTP/1.1 ",
            ("Content-Length: %d for 600,000 bytes: nothing between two answers"):format(length), text:match("^.-\r\n\r\n"))
    end
    t.is(web:get("/echo").body, "hello world\n", "the next answer")
end

-- facebook/hhvm#2240: half an upload is served as a whole one.
function cases.aborted_upload(web, server)
    local function handled()
        return tonumber(server:get("/status").body:match("\nrequests:%s*(%d+)"))
    end
    local before = handled()
    for _ = 1, 5 do
        local c = assert(t.fcgi.connect("127.0.0.1:" .. web.port))
        c:send("POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n" .. noise:sub(1, 200000))
        t.process.pause(0.05)
        c:reset()
    end
    t.process.pause(0.3)
    local after = handled()
    t.ok(after - before <= 1, "no handler runs for a half upload", ("%d requests more"):format(after - before))
    t.is(web:get("/echo").body, "hello world\n", "the next answer")
end

-- plack/Plack#670: clients that go in the middle of an answer.
function cases.client_gone(web)
    for _ = 1, 10 do
        local c = assert(t.fcgi.connect("127.0.0.1:" .. web.port))
        c:send("GET /answer?bytes=4194304 HTTP/1.1\r\nHost: x\r\n\r\n")
        c:receive(10)
        c:reset()
    end
    t.is(#web:get("/answer?bytes=100000").body, 100000, "the next answer, after ten clients that went")
end

-- haproxy/haproxy#1682, h2o/h2o#1823: a kept connection after an error or an answer without a body.
function cases.kept_client(web)
    -- (Apache closes its connection after a 500, h2o after HEAD: theirs to decide.)
    local run = t.process.run { "curl", "-s", "--max-time", "20", "-w", ".",
        web.url .. "/answer?bytes=3&status=500", "--next", "-s", "-I", "-o", "/dev/null", "-w", ".", web.url .. "/table",
        "--next", "-s", "-w", ".", web.url .. "/answer?status=204", "--next", "-s", "-w", ".",
        web.url .. "/answer?status=304", "--next", "-s", "-w", ".", web.url .. "/light" }
    t.is(run.out, "abc....echo.", "500, HEAD, 204, 304 and 200 one after another")
end

-- caddyserver/caddy#4618: the web server hangs or fails when the pool restarts.
function cases.reload(web, server)
    local ready = select(2, server:log_text():gsub("notice: ready:", ""))
    server:signal("HUP")
    local bad = 0
    t.poll(20, function()
        bad = bad + (web:get("/echo").body == "hello world\n" and 0 or 1)
        return select(2, server:log_text():gsub("notice: ready:", "")) > ready
    end)
    for _ = 1, 10 do
        bad = bad + (web:get("/echo").body == "hello world\n" and 0 or 1)
    end
    t.is(bad, 0, "no request is lost in a reload")
end

-- The child that runs /sleep now.
local function sleeper(server)
    for _, child in ipairs(cjson.decode(server:get("/status?full&json").body).processes) do
        if child.state == "Running" and child["request uri"]:find("^/sleep") then
            return child.pid
        end
    end
end

-- Starts a request for /sleep with <method>, kills the child that serves it, and returns the status that the client
-- gets and how many requests for /sleep the children began.
local function killed(web, server, method)
    local out = t.dir .. "/killed"
    t.process.write_file(out, "")
    local client = t.process.spawn { "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", stdout = out,
        web.url .. "/sleep?ms=500", method == "POST" and "--data" or nil, method == "POST" and "a=1" or nil }
    local pid = assert(t.poll(5, function()
        return sleeper(server)
    end), "nobody serves /sleep")
    t.process.kill(pid, "KILL")
    local again = t.poll(1, function()
        local other = sleeper(server)
        return other and other ~= pid
    end)
    t.process.wait(client, 10)
    return t.read_file(out), again and true or false
end

-- uselagoon/lagoon-images#444 and others: a child dies in mid-request. nginx, HAProxy and Caddy have a second try
-- for what may be repeated; a POST must not run twice behind any.
local SECOND_TRY = { nginx = true, haproxy = true, caddy = true }
function cases.child_killed(web, server)
    server:expect_log("on signal 9")
    local status = killed(web, server, "GET")
    t.is(status, SECOND_TRY[web.kind] and "200" or status:match("^5%d%d$") or "5xx", "GET, and its child is killed")
    t.is(web:get("/echo").body, "hello world\n", "the next answer")
    local again
    status, again = killed(web, server, "POST")
    t.like(status, "^5%d%d$", "POST, and its child is killed: told as a failure")
    t.ok(not again, "and not run again")
    t.is(web:get("/echo").body, "hello world\n", "the next answer")
end

-- caddyserver/caddy#546, nginx's "no live upstreams": a pool that was away is not found again.
function cases.pool_away(web, server)
    server:stop("QUIT")
    for _ = 1, 3 do
        t.like(tostring(web:get("/echo").status), "^50[234]$", "without a pool: a gateway's error")
    end
    local options = {}
    for name, value in pairs(server.options) do
        options[name] = value
    end
    options.address = server.address
    local successor = t.server.start(options)
    t.process.run { "chmod", "666", successor.socket }
    local began = t.now()
    t.ok(t.poll(10, function()
        return web:get("/echo").body == "hello world\n"
    end), "a pool that is back is used", web:error_log():sub(-500))
    t.note(("after %.1f s"):format(t.now() - began))
    return successor
end

local ORDER = {
    "paths", "header_twice", "underscore", "http_1_0", "expect", "early_answer", "large_head", "reserved_headers", "wrong_length",
    "aborted_upload", "client_gone", "kept_client", "reload", "child_killed",
}

local ROUTES = {
    "/body=" .. t.fixture("body.so"), "/answer=" .. t.fixture("answer.so"), "/seen=" .. t.fixture("seen.lua"),
}

t.each_engine(function(engine)
    for _, kind in ipairs(front.six) do
        local missing = front.missing(kind)
        if missing then
            t.skip(kind, missing)
        else
            t.case(kind, function()
                local server = t.server.start { engine = engine, children = CHILDREN, routes = ROUTES, arguments = { "--body-max", "1M" } }
                local web = front.shipped(kind, { fcgi = server.address, keepalive = front.keeps[kind] and CHILDREN or 0 })
                for _, name in ipairs(ORDER) do
                    t.case(name, function()
                        cases[name](web, server)
                    end)
                end
                t.ok(t.process.alive(web.pid), "the web server lives")
                t.case("pool_away", function()
                    server = cases.pool_away(web, server)
                end)
                web:stop(kind == "apache" and "WINCH" or "TERM")
                server:unchanged("the server afterwards", { fd_s = 10 })
                server:stop()
            end)
        end
    end
end)

-- nextcloud/documentation#9574: with nginx's buffering off an upload of unknown length is empty.
t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = CHILDREN, routes = ROUTES }
    for _, keepalive in ipairs { false, CHILDREN } do
        local web = front.nginx { fcgi = server.address, keepalive = keepalive or nil, location = "fastcgi_request_buffering off;" }
        for _, size in ipairs { 0, 1, 100000, #noise } do
            local answer = web:get("/body", { method = "POST", body = noise:sub(1, size), headers = { "Transfer-Encoding: chunked" } })
            t.ok(answer.status == 200 and answer.body == noise:sub(1, size),
                ("nginx, passed on as it arrives, %s: %d bytes in chunks"):format(keepalive and "kept" or "fresh", size), answer.head)
        end
        web:stop()
    end
    server:stop()
end)

t.done()
