-- One HTTP request over a fresh connection: for readiness and for looking at a page. Loads are
-- the load client's business.

local poll = require("posix.poll")
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")

local http = {}

local DEFAULT_PORT = 80
local STOP_LOOK_MS = 100

--- <url> in parts: {host, port, base = "http://host:port" (an IPv6 address in brackets), path (with its
-- query; nil when there is none)}. A name, an IPv6 address in brackets and a missing port are fine, as
-- for the load client. nil and what was expected for anything else.
function http.split(url)
    local authority, path = url:match("^http://([^/?#]+)([^#]*)")
    local host, port = (authority or ""):match("^%[([%x:.]+)%]:?(%d*)$")
    if not host then
        host, port = (authority or ""):match("^([%w._-]+):?(%d*)$")
    end
    port = host and (port == "" and DEFAULT_PORT or tonumber(port))
    if not host or port < 1 or port > 65535 then
        return nil, ("invalid address '%s'; expected http://host[:port]/path"):format(url)
    end
    local shown = host:find(":", 1, true) and "[" .. host .. "]" or host
    if path:sub(1, 1) == "?" then
        path = "/" .. path
    end
    return { host = host, port = port, base = ("http://%s:%d"):format(shown, port), path = path ~= "" and path or nil }
end

--- Is <host> this machine, by its name or a loopback address?
function http.is_local(host)
    return host == "localhost" or host == "::1" or host:match("^127%.%d+%.%d+%.%d+$") ~= nil
end

-- A connected socket to the first address of <host> that takes the connection.
local function open(host, port, timeout_s)
    local list, unknown = socket.getaddrinfo(host, tostring(port), { family = socket.AF_UNSPEC, socktype = socket.SOCK_STREAM })
    if not list then
        return nil, ("%s: %s"):format(host, tostring(unknown))
    end
    local seconds, reason = math.floor(timeout_s), "no address"
    local micros = math.floor((timeout_s - seconds) * 1e6)
    for _, address in ipairs(list) do
        local fd, why = socket.socket(address.family, socket.SOCK_STREAM, 0)
        if fd then
            socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_RCVTIMEO, seconds, micros)
            socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds, micros)
            local ok
            ok, why = socket.connect(fd, address)
            if ok then
                return fd
            end
            unistd.close(fd)
        end
        reason = why
    end
    return nil, reason
end

local function dechunk(text)
    local parts, at = {}, 1
    while true do
        local first, last, size = text:find("^(%x+)[^\r\n]*\r\n", at)
        size = first and tonumber(size, 16)
        if not size or size == 0 then
            return table.concat(parts)
        end
        parts[#parts + 1] = text:sub(last + 1, last + size)
        at = last + size + 3
    end
end

--- Header fields of the text <head>, names in lower case; the last of equal names wins.
local function fields(head)
    local found = {}
    for name, value in head:gmatch("\r\n([^:\r\n]+):[ \t]*([^\r\n]*)") do
        found[name:lower()] = value
    end
    return found
end

local function send_all(fd, text)
    local at = 1
    while at <= #text do
        local sent, reason = socket.send(fd, at == 1 and text or text:sub(at))
        if not sent then
            return nil, reason
        end
        at = at + sent
    end
    return true
end

-- Waits until there is something to read, <timeout_s> are over, or stop() says true: then reading fails at once.
local function await(fd, timeout_s, stop)
    local left_ms = timeout_s * 1000
    while left_ms > 0 and poll.rpoll(fd, math.min(left_ms, STOP_LOOK_MS)) == 0 do
        left_ms = left_ms - STOP_LOOK_MS
        if stop() then
            left_ms = 0
        end
    end
    if left_ms <= 0 then
        socket.shutdown(fd, socket.SHUT_RDWR)
    end
end

--- GET of <url>..<path>, or with <body> a POST of it; url as http.split() takes it. extra: header lines,
-- each ended by CR LF.
-- Returns {status, headers, body}, or nil and a reason. Each wait lasts at most <timeout_s>; with <stop> it also
-- ends soon after stop() says true.
function http.get(url, path, timeout_s, extra, body, stop)
    local address, problem = http.split(tostring(url))
    if not address then
        return nil, problem
    end
    local fd, reason = open(address.host, address.port, timeout_s or 5)
    if not fd then
        return nil, reason
    end
    local request = (body and "POST " or "GET ") .. path .. " HTTP/1.1\r\nHost: " .. address.base:sub(8)
        .. "\r\nConnection: close\r\n" .. (body and ("Content-Length: %d\r\n"):format(#body) or "") .. (extra or "") .. "\r\n"
    local sent, why = send_all(fd, request .. (body or ""))
    local parts = {}
    while sent do
        local data
        if stop then
            await(fd, timeout_s or 5, stop)
        end
        data, why = socket.recv(fd, 65536)
        if not data or data == "" then
            sent = data and sent
            break
        end
        parts[#parts + 1] = data
    end
    unistd.close(fd)
    local text = table.concat(parts)
    local head, content = text:match("^(HTTP/.-)\r\n\r\n(.*)$")
    if not head then
        return nil, sent and "no answer" or why
    end
    local headers = fields(head)
    if (headers["transfer-encoding"] or ""):lower() == "chunked" then
        content = dechunk(content)
    end
    return { status = tonumber(head:match("^HTTP/%S+ (%d+)")), headers = headers, body = content }
end

return http
