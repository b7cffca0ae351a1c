-- SPDX-License-Identifier: MIT
--
-- fcgi.lua - FastCGI records as bytes, for tests that speak to the server's
-- socket directly. Written from the FastCGI specification alone, so that it
-- shares no mistake with the server.
--
--   fcgi.record(type, id, content, padding) -> bytes (one record, content <= 65535)
--   fcgi.begin(id, {role = 1, keep = bool})     fcgi.pair(name, value, long)
--   fcgi.stream(type, id, content, size)        -- many records and the empty one
--   fcgi.request{id = 1, keep = bool, params = {{name, value}...} or {NAME = value},
--                path = "/hello?name=x", method = "GET", body = ""} -> bytes
--   fcgi.records(bytes) -> list of {type, id, content, padding}, rest
--   fcgi.connect(address) -> connection, or nil, reason. "unix:/path", "host:port", "[v6]:port"
--     c:send(bytes) -> true | nil, reason     c:receive(seconds) -> bytes, "" at the end, nil in time
--     c:answer(id, seconds) -> answer         c:read_all(seconds) -> bytes, closed
--     c:half_close()  c:close()  c:reset()    c.fd
--   answer: {status, headers (lower case), body, head, stdout, stderr, app_status,
--            protocol_status, ids (set), complete (END_REQUEST seen), closed}
--   fcgi.get(address, path, options) -> answer  (options as fcgi.request, and timeout)

local bit = require("bit")
local ffi = require("ffi")
local poll = require("posix.poll")
local process = require("process")
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")

local fcgi = {
    BEGIN = 1, ABORT = 2, END = 3, PARAMS = 4, STDIN = 5, STDOUT = 6, STDERR = 7, DATA = 8,
    GET_VALUES = 9, GET_VALUES_RESULT = 10, UNKNOWN_TYPE = 11,
    RESPONDER = 1, AUTHORIZER = 2, FILTER = 3,
    REQUEST_COMPLETE = 0, CANT_MPX_CONN = 1, OVERLOADED = 2, UNKNOWN_ROLE = 3,
}

local function u16(value)
    return string.char(bit.rshift(value, 8), bit.band(value, 255))
end

function fcgi.record(kind, id, content, padding, version)
    content, padding = content or "", padding or 0
    assert(#content <= 65535)
    return string.char(version or 1, kind) .. u16(id) .. u16(#content) .. string.char(padding, 0)
        .. content .. string.rep("\0", padding)
end

function fcgi.begin(id, options)
    options = options or {}
    return fcgi.record(fcgi.BEGIN, id,
        u16(options.role or fcgi.RESPONDER) .. string.char(options.keep and 1 or 0) .. string.rep("\0", 5))
end

local function length(value, long)
    if value < 128 and not long then
        return string.char(value)
    end
    return string.char(bit.bor(128, bit.rshift(value, 24)), bit.band(bit.rshift(value, 16), 255),
        bit.band(bit.rshift(value, 8), 255), bit.band(value, 255))
end

-- One name-value pair; <long> forces the four-byte form of both lengths.
function fcgi.pair(name, value, long)
    return length(#name, long) .. length(#value, long) .. name .. value
end

function fcgi.stream(kind, id, content, size, padding)
    local parts = {}
    for at = 1, #content, size or 65528 do
        parts[#parts + 1] = fcgi.record(kind, id, content:sub(at, at + (size or 65528) - 1), padding)
    end
    parts[#parts + 1] = fcgi.record(kind, id, "", padding and 7 or 0)
    return table.concat(parts)
end

-- What nginx sends for <path>, in its usual order.
function fcgi.params(path, options)
    options = options or {}
    local script, query = path:match("^([^?]*)%??(.*)$")
    local body = options.body or ""
    return {
        { "QUERY_STRING", query },
        { "REQUEST_METHOD", options.method or "GET" },
        { "CONTENT_TYPE", options.content_type or "" },
        { "CONTENT_LENGTH", #body > 0 and tostring(#body) or "" },
        { "SCRIPT_NAME", script },
        { "REQUEST_URI", path },
        { "DOCUMENT_URI", script },
        { "SERVER_PROTOCOL", "HTTP/1.1" },
        { "GATEWAY_INTERFACE", "CGI/1.1" },
        { "REMOTE_ADDR", "127.0.0.1" },
        { "SERVER_NAME", "localhost" },
        { "HTTP_HOST", "localhost" },
    }
end

function fcgi.encode_params(params)
    local parts = {}
    if params[1] == nil then
        local names = {}
        for name in pairs(params) do
            names[#names + 1] = name
        end
        table.sort(names)
        for _, name in ipairs(names) do
            parts[#parts + 1] = fcgi.pair(name, params[name])
        end
    end
    for _, pair in ipairs(params) do
        parts[#parts + 1] = fcgi.pair(pair[1], pair[2])
    end
    return table.concat(parts)
end

function fcgi.request(options)
    local id = options.id or 1
    local params = options.params or fcgi.params(options.path or "/echo", options)
    return fcgi.begin(id, options)
        .. fcgi.stream(fcgi.PARAMS, id, fcgi.encode_params(params), options.record_size)
        .. fcgi.stream(fcgi.STDIN, id, options.body or "", options.record_size)
end

function fcgi.records(bytes)
    local list, at = {}, 1
    while #bytes - at + 1 >= 8 do
        local version, kind, id_high, id_low, high, low, padding = bytes:byte(at, at + 6)
        local size = high * 256 + low
        if #bytes - at + 1 < 8 + size + padding then
            break
        end
        list[#list + 1] = {
            version = version, type = kind, id = id_high * 256 + id_low,
            content = bytes:sub(at + 8, at + 7 + size), padding = padding,
        }
        at = at + 8 + size + padding
    end
    return list, bytes:sub(at)
end

local connection = {}
connection.__index = connection

local function sockaddr(address)
    local path = address:match("^unix:(.*)$")
    if path then
        return { family = socket.AF_UNIX, path = path }
    end
    local host, port = address:match("^%[?(.-)%]?:(%d+)$")
    assert(host, "bad address " .. address)
    return {
        family = host:find(":") and socket.AF_INET6 or socket.AF_INET,
        addr = host == "localhost" and "127.0.0.1" or host, port = tonumber(port),
    }
end

function fcgi.connect(address)
    local target = sockaddr(address)
    local fd, reason = socket.socket(target.family, socket.SOCK_STREAM, 0)
    if not fd then
        return nil, reason
    end
    local good, message = socket.connect(fd, target)
    if not good then
        unistd.close(fd)
        return nil, message
    end
    return setmetatable({ fd = fd, pending = "" }, connection)
end

function connection:send(bytes)
    local at = 1
    while at <= #bytes do
        local sent, reason = socket.send(self.fd, bytes:sub(at, at + 262143))
        if not sent then
            return nil, reason
        end
        at = at + sent
    end
    return true
end

function connection:receive(seconds)
    local ready = poll.rpoll(self.fd, math.max(0, math.ceil((seconds or 5) * 1000)))
    if ready ~= 1 then
        return nil
    end
    return socket.recv(self.fd, 65536) or ""
end

-- Everything until the peer closes; whether it did within <seconds>.
function connection:read_all(seconds)
    local limit, parts = process.now() + (seconds or 5), { self.pending }
    self.pending = ""
    while true do
        local data = self:receive(limit - process.now())
        if data == nil then
            return table.concat(parts), false
        elseif data == "" then
            return table.concat(parts), true
        end
        parts[#parts + 1] = data
    end
end

local function parse_head(answer)
    local head, body = answer.stdout:match("^(.-\r?\n)\r?\n(.*)$")
    answer.head, answer.body, answer.headers = head or "", body, {}
    for name, value in (head or ""):gmatch("([^:\r\n]+):%s*([^\r\n]*)\r?\n") do
        answer.headers[name:lower()] = value
    end
    if head then
        answer.status = tonumber((answer.headers.status or "200"):match("^%d+"))
    end
end

-- Reads until END_REQUEST of <id>. Never fails: look at complete and closed.
function connection:answer(id, seconds)
    id = id or 1
    local limit = process.now() + (seconds or 5)
    local answer = { ids = {}, records = {}, stdout = "", stderr = "", complete = false, closed = false }
    local out, err, data = {}, {}, self.pending
    repeat
        local list, rest = fcgi.records(data)
        local used = 0
        for _, record in ipairs(list) do
            used = used + 8 + #record.content + record.padding
            answer.records[#answer.records + 1] = record
            answer.ids[record.id] = true
            if record.type == fcgi.STDOUT and record.id == id then
                out[#out + 1] = record.content
            elseif record.type == fcgi.STDERR and record.id == id then
                err[#err + 1] = record.content
            elseif record.type == fcgi.END and record.id == id then
                local a, b, c, d, status = record.content:byte(1, 5)
                answer.app_status = ((a * 256 + b) * 256 + c) * 256 + d
                answer.protocol_status = status
                answer.complete = true
                rest = data:sub(used + 1)
                break
            end
        end
        data = rest
        if not answer.complete then
            local more = self:receive(limit - process.now())
            answer.closed = more == ""
            if more == nil or more == "" then
                break
            end
            data = data .. more
        end
    until answer.complete
    self.pending = data
    answer.stdout, answer.stderr = table.concat(out), table.concat(err)
    parse_head(answer)
    return answer
end

function connection:half_close()
    return socket.shutdown(self.fd, socket.SHUT_WR)
end

function connection:close()
    if self.fd then
        unistd.close(self.fd)
        self.fd = nil
    end
end

-- TCP: RST instead of FIN. A unix socket closed with unread bytes does the same.
function connection:reset()
    socket.setsockopt(self.fd, socket.SOL_SOCKET, socket.SO_LINGER, 1, 0)
    self:close()
end

-- The receive buffer, to make a peer's writes block or fail early.
function connection:receive_buffer(bytes)
    return socket.setsockopt(self.fd, socket.SOL_SOCKET, socket.SO_RCVBUF, bytes)
end

function fcgi.get(address, path, options)
    options = options or {}
    options.path = path
    local c, reason = fcgi.connect(address)
    if not c then
        return { ids = {}, headers = {}, stdout = "", stderr = "", failure = reason }
    end
    c:send(fcgi.request(options))
    local answer = c:answer(options.id, options.timeout)
    c:close()
    return answer
end

-- Random bytes that are the same in every run with the same <seed>.
function fcgi.noise(count, seed)
    local buffer, state = ffi.new("uint8_t[?]", count), ffi.new("uint32_t[1]", seed or 1)
    for index = 0, count - 1 do
        state[0] = state[0] * 1664525 + 1013904223
        buffer[index] = bit.rshift(state[0], 24)
    end
    return ffi.string(buffer, count)
end

return fcgi
