#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The server behind each of the six web servers, with the shipped configurations, on both engines,
-- with connections to the server that are kept and fresh: answers, HEAD, large answers, uploads of
-- known and of unknown length, errors. The web server's own errors (5xx) never stand for an answer.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local front = t.front

local CHILDREN = 4
local MIB = 1048576
local noise = t.fcgi.noise(5 * MIB, 7)
local pattern = ("abcdefghijklmnopqrstuvwxyz"):rep(4 * MIB / 26 + 1)
local SIZES = { 0, 1, 65535, 65536, 100000, #noise }

-- HAProxy tells the application a length, so it refuses what its buffer does not hold; of an empty
-- upload it would send no end.
local UNKNOWN = { haproxy = { least = 1, most = 48000 } }

-- Words of an error log that stand for no fault of a request.
local NO_FAULT = {
    "AH00094", "AH00489", "AH00493", "AH00051", -- Apache: started, stopped
    "server started", "server stopped", -- lighttpd
    " - - ---- ", " 411 ", -- HAProxy: an answer that is the handler's; the configuration's own refusal
    "detected close by upstream before the expected timeout", -- h2o: an idle connection
    "is ready to serve requests", "gracefully shutting down", -- h2o
}

local function faults(web)
    local lines = {}
    for line in web:error_log():gmatch("[^\n]+") do
        local known = false
        for _, text in ipairs(NO_FAULT) do
            known = known or line:find(text, 1, true) ~= nil
        end
        -- nginx and Apache tell how bad a thing is; the other three log nothing but faults.
        local loud = line:find("%[[%w_]*:?error%]") or line:find("%[[%w_]*:?crit%]") or line:find("%[[%w_]*:?alert%]")
        if not known and (loud or web.kind ~= "nginx" and web.kind ~= "apache") and not line:find("^%[INFO%]")
            and not line:find('"level":"info"') then
            lines[#lines + 1] = line
        end
    end
    return table.concat(lines, "\n")
end

local function accepted(server)
    return tonumber(server:get("/status").body:match("accepted conn:%s*(%d+)"))
end

-- The same page <count> times over one connection of the client's.
local function again_and_again(web, path, count)
    local command = { "curl", "-s", "--max-time", "20" }
    for _ = 1, count do
        command[#command + 1] = web.url .. path
    end
    return t.process.run(command).out
end

local function answers(web)
    t.is(web:get("/hello?name=j%26b").body, "<h1>Hello j&amp;b</h1>", "a query string")
    t.is(web:get("/lua/hello?name=john").body, "<h1>Hello john</h1>", "a handler in Lua")
    t.is(again_and_again(web, "/echo", 20), ("hello world\n"):rep(20), "20 answers over one client connection")
    local head = web:get("/table", { head = true })
    t.is(head.status, 200, "HEAD: status")
    t.ok(head.exit == 0 and head.headers["content-length"] == "67840", "HEAD: the length that GET has", head.head)
    t.is(#web:get("/table").body, 67840, "and GET has it")
    for _, size in ipairs { 65536, 4 * MIB } do
        local answer = web:get("/answer?bytes=" .. size)
        t.ok(answer.body == pattern:sub(1, size), size .. " bytes down", answer.error .. answer.head)
    end
    t.ok(web:get("/answer?flush=1&bytes=100000").body == pattern:sub(1, 100000), "in many writes")
end

local function errors(web)
    for _, status in ipairs { 201, 204, 304, 404, 418, 500, 503 } do
        local answer = web:get("/answer?bytes=0&status=" .. status)
        t.is(answer.status, status, "the handler's " .. status)
        t.is(answer.body, "", status .. ": and its body")
    end
    t.is(web:get("/errors?how=text").status, 500, "a handler that raises an error")
    t.is(web:get("/none").status, 404, "no such route")
    t.is(web:get("/answer?status=302&name=Location&value=/there").headers.location, "/there", "a redirect")
    t.is(web:get("/echo").body, "hello world\n", "the next answer")
end

local function upload(web, path, size, ...)
    return web:get(path, { method = "POST", body = noise:sub(1, size), timeout = 30, headers = { ... } })
end

local function uploads(web, path)
    for _, size in ipairs(SIZES) do
        local answer = upload(web, path, size)
        t.ok(answer.status == 200 and answer.body == noise:sub(1, size), size .. " bytes, length known",
            ("%s, %d bytes, %s"):format(tostring(answer.status), #answer.body, answer.error))
    end
    for _, size in ipairs(SIZES) do
        local answer = upload(web, path, size, "Transfer-Encoding: chunked")
        local name = size .. " bytes, length unknown"
        local limits = UNKNOWN[web.kind] or { least = 0, most = #noise }
        if size < limits.least or size > limits.most then
            -- Of a large one the client may still send when HAProxy closes, and hear no reason.
            local unheard = size == #noise and not answer.status and (answer.exit == 55 or answer.exit == 56)
            t.ok(unheard or answer.status == 411 and answer.body:find("Content%-Length"), name .. ": refused, with what to send",
                ("%s %s %s"):format(tostring(answer.status), answer.body, answer.error))
        else
            t.ok(answer.status == 200 and answer.body == noise:sub(1, size), name,
                ("%s, %d bytes, %s"):format(tostring(answer.status), #answer.body, answer.error))
        end
    end
    local answer = upload(web, path, 100000, "Expect: 100-continue")
    t.ok(answer.status == 200 and answer.body == noise:sub(1, 100000), "after 100 Continue", answer.head)
    t.is(upload(web, path .. "?skip=1", 2 * MIB).body, "skipped\n", "a handler that leaves the body unread")
    t.is(web:get("/echo").body, "hello world\n", "the next answer")
end

-- Chunks that arrive one by one, as from a program that makes them.
local function slow_chunks(web)
    local c = assert(t.fcgi.connect("127.0.0.1:" .. web.port))
    c:send("POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: text/plain\r\n"
        .. "Transfer-Encoding: chunked\r\n\r\n")
    for _, chunk in ipairs { "3\r\nabc\r\n", "4;extension=1\r\ndefg\r\n", "0\r\n\r\n" } do
        t.process.pause(0.1)
        c:send(chunk)
    end
    local text = c:read_all(10)
    c:close()
    t.like(text, "^HTTP/1.1 200 .*abcdefg", "chunks that arrive one by one")
end

local function connections(web, server, kept)
    local before = accepted(server)
    again_and_again(web, "/echo", 30)
    local made = accepted(server) - before - 1 -- the question itself
    if kept then
        t.ok(made <= CHILDREN, "30 requests over kept connections", made .. " were made")
    else
        t.ok(made == 30, "30 requests, a fresh connection each", made .. " were made")
    end
end

local function behind(kind, server, kept)
    local web = front.shipped(kind, { fcgi = server.address, keepalive = kept and CHILDREN or 0 })
    answers(web)
    t.case("POST to C", function() uploads(web, "/body") end)
    t.case("POST to Lua", function() uploads(web, "/lua/body") end)
    slow_chunks(web)
    errors(web)
    connections(web, server, kept)
    web:stop(kind == "apache" and "WINCH" or "TERM")
    t.is(faults(web), "", "no fault in its log")
end

t.each_engine(function(engine)
    local server = t.server.start {
        engine = engine, children = CHILDREN,
        routes = {
            "/body=" .. t.fixture("body.so"), "/lua/body=" .. t.fixture("body.lua"),
            "/answer=" .. t.fixture("answer.so"), "/errors=" .. t.fixture("errors.lua"),
        },
    }
    server:expect_log("errors.lua")
    for _, kind in ipairs(front.six) do
        local missing = front.missing(kind)
        for _, kept in ipairs(front.keeps[kind] and { true, false } or { false }) do
            local name = kind .. (kept and ", kept" or ", fresh")
            if missing then
                t.skip(name, missing)
            else
                t.case(name, function()
                    behind(kind, server, kept)
                end)
            end
        end
    end
    server:unchanged("after all of them", { fd_s = 10 })
    server:stop()
end)

t.done()
