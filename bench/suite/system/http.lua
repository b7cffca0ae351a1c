-- One HTTP request over a fresh connection: for readiness and for looking at a page. Loads are
-- the load client's business.

local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")

local http = {}

local function open(host, port, timeout_s)
    local fd, reason = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    if not fd then
        return nil, reason
    end
    local seconds = math.floor(timeout_s)
    local micros = math.floor((timeout_s - seconds) * 1e6)
    socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_RCVTIMEO, seconds, micros)
    socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds, micros)
    local ok, why = socket.connect(fd, { family = socket.AF_INET, addr = host, port = port })
    if not ok then
        unistd.close(fd)
        return nil, why
    end
    return fd
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

--- GET of <url>..<path>; url is "http://a.b.c.d:port". extra: header lines, each ended by CR LF.
-- Returns {status, headers, body}, or nil and a reason. Each wait lasts at most <timeout_s>.
function http.get(url, path, timeout_s, extra)
    local host, port = url:match("^http://([%d.]+):(%d+)$")
    if not host then
        return nil, "not an address of this kind: " .. tostring(url)
    end
    local fd, reason = open(host, tonumber(port), timeout_s or 5)
    if not fd then
        return nil, reason
    end
    local request = "GET " .. path .. " HTTP/1.1\r\nHost: " .. host .. ":" .. port
        .. "\r\nConnection: close\r\n" .. (extra or "") .. "\r\n"
    local sent, why = socket.send(fd, request)
    local parts = {}
    while sent do
        local data
        data, why = socket.recv(fd, 65536)
        if not data or data == "" then
            sent = data and sent
            break
        end
        parts[#parts + 1] = data
    end
    unistd.close(fd)
    local text = table.concat(parts)
    local head, body = text:match("^(HTTP/.-)\r\n\r\n(.*)$")
    if not head then
        return nil, sent and "no answer" or why
    end
    local headers = fields(head)
    if (headers["transfer-encoding"] or ""):lower() == "chunked" then
        body = dechunk(body)
    end
    return { status = tonumber(head:match("^HTTP/%S+ (%d+)")), headers = headers, body = body }
end

return http
