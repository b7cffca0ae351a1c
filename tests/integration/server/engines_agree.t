#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The same bytes to both engines: the same answers, request by request and byte for
-- byte, whether the connection stays open or is closed. Streams recorded from nginx,
-- Apache and lighttpd, and made ones; each stream whole, and cut into pieces. Where
-- the engines differ on purpose, the table below says why.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, process = t.fcgi, t.process

-- Name of the stream -> why the answers may differ.
local different = {
    ["NUL in a value"] = "libfcgi hands out C strings: the value ends at its NUL",
    ["an equals sign in a name"] = "libfcgi hands out NAME=VALUE: the name ends at its first '='",
    ["abort while the handler waits"] = "the libfcgi engine does not read while a handler runs: it answers in full",
}

-- Name of the stream -> what the event engine may answer as well, depending on which bytes it had seen when.
local also = {
    ["aborted when whole"] = "^id 1: , then type 3 [^\n]+\nid 1: Content%-Type: [^\n]+\n",
}

local streams = {}
local function stream(name, bytes)
    streams[#streams + 1] = { name = name, bytes = bytes }
end

for _, front in ipairs { "nginx", "apache", "lighttpd" } do
    for _, kind in ipairs { "get", "head", "post", "empty", "escapes", "headers" } do
        local bytes = process.read_file(t.root .. "/tests/fuzz/corpus/request/" .. front .. "-" .. kind)
        stream(front .. " " .. kind, assert(bytes))
    end
end

local begin, params, stdin = fcgi.BEGIN, fcgi.PARAMS, fcgi.STDIN
local function request(options)
    return fcgi.request(options)
end
local hello = { path = "/hello?name=x", keep = true }

stream("kept", request(hello))
stream("not kept", request { path = "/hello?name=x" })
stream("id 65535", request { path = "/hello?name=x", id = 65535, keep = true })
stream("three pipelined", request(hello) .. request { path = "/table", keep = true } .. request(hello))
stream("no such path", request { path = "/nowhere", keep = true })
stream("a body of 100,000 bytes", request { path = "/body", method = "POST", body = ("b"):rep(100000), keep = true })
stream("a body nobody reads", request { path = "/echo", method = "POST", body = ("b"):rep(100000), keep = true }
    .. request(hello))
stream("a body that looks like records", request {
    path = "/echo", method = "POST", body = request { path = "/hello?name=smuggled", keep = true }, keep = true,
} .. request(hello))
stream("a body cut short", request {
    path = "/body", method = "POST", keep = true, body = "",
    params = { { "REQUEST_METHOD", "POST" }, { "SCRIPT_NAME", "/body" }, { "CONTENT_LENGTH", "10" } },
})
stream("a content length that is none", request {
    path = "/body", keep = true,
    params = { { "REQUEST_METHOD", "POST" }, { "SCRIPT_NAME", "/body" }, { "CONTENT_LENGTH", "ten" } },
})
stream("malformed parameters", fcgi.begin(1, { keep = true }) .. fcgi.record(params, 1, "\5\5abc")
    .. fcgi.record(params, 1, "") .. fcgi.record(stdin, 1, ""))
stream("no parameters", fcgi.begin(1, { keep = true }) .. fcgi.record(params, 1, "") .. fcgi.record(stdin, 1, ""))
stream("parameters over the limit", fcgi.begin(1, { keep = true })
    .. fcgi.stream(params, 1, fcgi.pair("X", ("x"):rep(300000))))
stream("NUL in a value", request {
    keep = true, path = "/hello",
    params = { { "SCRIPT_NAME", "/hello" }, { "QUERY_STRING", "name=a\0b" }, { "REQUEST_METHOD", "GET" } },
})
for name, label in pairs { ["X\0Y"] = "NUL in a name", ["\0"] = "a name that is NUL", [""] = "an empty name" } do
    stream(label, request {
        keep = true, path = "/hello",
        params = { { "SCRIPT_NAME", "/hello" }, { name, "v" }, { "QUERY_STRING", "name=a" }, { "REQUEST_METHOD", "GET" } },
    })
end
stream("an equals sign in a name", request {
    keep = true, path = "/hello",
    params = { { "QUERY_STRING=name=first&x", "" }, { "SCRIPT_NAME", "/hello" }, { "REQUEST_METHOD", "GET" },
        { "QUERY_STRING", "name=second" } },
})
stream("GET_VALUES, then a request", fcgi.record(fcgi.GET_VALUES, 0,
    fcgi.pair("FCGI_MPXS_CONNS", "") .. fcgi.pair("FCGI_MPXS_CONNS", "")) .. request(hello))
stream("an unknown management record", fcgi.record(42, 0, "?") .. request(hello))
stream("an empty record of another id", fcgi.begin(1, { keep = true }) .. fcgi.record(params, 2, "")
    .. request(hello):sub(17))
stream("a second id", fcgi.begin(1, { keep = true }) .. fcgi.begin(2, { keep = true })
    .. request(hello):sub(17))
stream("an authorizer", fcgi.begin(1, { keep = true, role = 2 }) .. request(hello):sub(17) .. request(hello))
stream("an unknown role, not kept", fcgi.begin(1, { role = 9 }))
stream("aborted among parameters", fcgi.begin(1, { keep = true }) .. fcgi.record(params, 1, fcgi.pair("A", "b"))
    .. fcgi.record(fcgi.ABORT, 1) .. request(hello))
stream("aborted when whole", request(hello) .. fcgi.record(fcgi.ABORT, 1) .. request(hello))
stream("abort while the handler waits", request { path = "/lua/sleep?ms=300", keep = true }
    .. "\0wait" .. fcgi.record(fcgi.ABORT, 1))
stream("id 0", fcgi.record(begin, 0, "\0\1\0\0\0\0\0\0"))
stream("version 9", fcgi.record(begin, 1, "\0\1\0\0\0\0\0\0", 0, 9))
stream("a begin of 7 bytes", fcgi.record(begin, 1, "\0\1\0\0\0\0\0"))
stream("an HTTP request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
stream("type 77 for an open id", fcgi.begin(1) .. fcgi.record(77, 1, "x") .. request(hello))
stream("the body before the parameters", fcgi.begin(1) .. fcgi.record(stdin, 1, "x"))

local function say(address, bytes, piece)
    local connection = assert(fcgi.connect(address))
    for at = 1, #bytes, piece do
        if not connection:send(bytes:sub(at, math.min(at + piece - 1, #bytes))) then
            break -- refused early
        end
    end
    return connection
end

-- Everything that comes back until nothing has for a while: for each id the bytes of
-- STDOUT and how it ended, then the other records, then whether we were cut off.
local function hear(connection, quiet)
    local got, closed = {}
    while true do
        local more = connection:receive(quiet)
        closed = more == ""
        if more == nil or closed then
            break
        end
        got[#got + 1] = more
    end
    connection:close()
    local list, rest = fcgi.records(table.concat(got))
    local said, out = {}, {}
    for _, record in ipairs(list) do
        if record.type == fcgi.STDOUT then
            out[record.id] = (out[record.id] or "") .. record.content
        else
            said[#said + 1] = ("id %d: %s, then type %d %q"):format(record.id, out[record.id] or "", record.type,
                record.content)
            out[record.id] = nil
        end
    end
    said[#said + 1] = (closed and "closed" or "open") .. (#rest > 0 and " inside a record" or "")
    return table.concat(said, "\n")
end

-- Both at the same time, so that one pause serves both.
local function both(servers, bytes, piece, quiet)
    local before, after = bytes:match("^(.*)%zwait(.*)$")
    local event = say(servers.event.address, before or bytes, piece)
    local libfcgi = say(servers.libfcgi.address, before or bytes, piece)
    if after then
        process.pause(0.1)
        event:send(after)
        libfcgi:send(after)
    end
    return hear(event, quiet), hear(libfcgi, quiet)
end

local servers = {}
for _, engine in ipairs { "event", "libfcgi" } do
    servers[engine] = t.server.start {
        engine = engine, children = 2, routes = { "/body=" .. t.fixture("body.so") },
    }
end
for _, one in ipairs(streams) do
    for _, piece in ipairs(#one.bytes > 5000 and { 65536, 4099 } or { 65536, 7 }) do
        local event, libfcgi = both(servers, one.bytes, piece, 0.3)
        if event ~= libfcgi and not different[one.name] then -- or only late, on a busy machine
            event, libfcgi = both(servers, one.bytes, piece, 3)
        end
        local name = ("%s, in pieces of %d"):format(one.name, piece)
        if different[one.name] then
            t.ok(event ~= libfcgi, name .. ": different, as documented", different[one.name])
        elseif event:find(also[one.name] or "$^") then
            t.ok(true, name .. ": ended early, as it may be")
        else
            t.is(event, libfcgi, name)
        end
    end
end
for _, server in pairs(servers) do
    server:unchanged("afterwards")
    server:stop()
end
t.done()
