-- SPDX-License-Identifier: MIT
--
-- scripted.lua - a server that does exactly what a test says, in a process of its
-- own. Used to test the load client against answers that real servers give only
-- now and then.
--
--   scripted.start{answer = function(n, request, place) -> bytes | {bytes, ...}, options}
--     -> s, with s.url, s.port, s:counts() -> {connections, requests}, s:stop()
--   n        the number of this request in the whole run, from 1
--   request  its bytes; for FastCGI its records
--   place    {connection = number, index = number of the request on this connection}
--   The answer's pieces are sent one after another, 1 ms apart where options.pause
--   (seconds) asks for more. options.close: close after the answer; options.reset:
--   by RST; options.delay: seconds before the answer; options.silent: no answer;
--   options.close_first: close without answering.
--   start{whole = function(data) -> length | nil} decides where a request ends: at its header, say, with
--   the body unread. start{fcgi = true} speaks FastCGI; {unix = path}, {v6 = true}, {backlog = n},
--   {accept = false}: listens and never accepts.

local bit = require("bit")
local ffi = require("ffi")
local fcntl = require("posix.fcntl")
local poll = require("posix.poll")
local process = require("process")
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")
local fcgi = require("fcgi")

ffi.cdef [[ void *mmap(void *address, size_t length, int protection, int flags, int fd, long offset); ]]

local scripted = {}
local instance = {}
instance.__index = instance

-- Two numbers that parent and child both see.
local function shared_counters()
    local PROT_READ_WRITE, MAP_SHARED_ANONYMOUS = 3, 0x21
    return ffi.cast("volatile uint32_t *", ffi.C.mmap(nil, 4096, PROT_READ_WRITE, MAP_SHARED_ANONYMOUS, -1, 0))
end

-- A whole HTTP request at the start of <data>: its length, or nil.
local function http_length(data)
    local _, head = data:find("\r\n\r\n", 1, true)
    if not head then
        return nil
    end
    local body = tonumber(data:sub(1, head):lower():match("\r\ncontent%-length:%s*(%d+)")) or 0
    return #data >= head + body and head + body or nil
end

local function fcgi_length(data)
    local used = 0
    for _, record in ipairs((fcgi.records(data))) do
        used = used + 8 + #record.content + record.padding
        if record.type == fcgi.STDIN and record.content == "" then
            return used
        end
    end
    return nil
end

local function send_all(fd, bytes)
    local at = 1
    while at <= #bytes do
        local sent = socket.send(fd, bytes:sub(at, at + 65535))
        if not sent then
            local ready = poll.poll({ [fd] = { events = { OUT = true } } }, 2000)
            if ready ~= 1 then
                return
            end
            sent = socket.send(fd, bytes:sub(at, at + 65535))
            if not sent then
                return
            end
        end
        at = at + sent
    end
end

local function close_connection(state, fd, reset)
    if reset then
        socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_LINGER, 1, 0)
    end
    state.connections[fd] = nil
    unistd.close(fd)
end

local function reply(state, fd, connection, request)
    state.shared[1] = state.shared[1] + 1
    connection.index = connection.index + 1
    local bytes, options = state.script(tonumber(state.shared[1]), request,
        { connection = connection.number, index = connection.index })
    options = options or {}
    if options.delay then
        process.pause(options.delay)
    end
    if not options.silent and not options.close_first then
        for index, piece in ipairs(type(bytes) == "table" and bytes or { bytes }) do
            if index > 1 then
                process.pause(options.pause or 0.001)
            end
            send_all(fd, piece)
        end
    end
    if options.close or options.close_first or options.reset then
        close_connection(state, fd, options.reset)
        return false
    end
    return true
end

local function readable(state, fd)
    local connection = state.connections[fd]
    local data = socket.recv(fd, 65536)
    if not data or data == "" then
        close_connection(state, fd)
        return
    end
    connection.data = connection.data .. data
    while true do
        local length = state.whole(connection.data)
        if not length then
            return
        end
        local request = connection.data:sub(1, length)
        connection.data = connection.data:sub(length + 1)
        if not reply(state, fd, connection, request) then
            return
        end
    end
end

local function accept_all(state, listener)
    while true do
        local fd = socket.accept(listener)
        if not fd then
            return
        end
        fcntl.fcntl(fd, fcntl.F_SETFL, bit.bor(fcntl.fcntl(fd, fcntl.F_GETFL), fcntl.O_NONBLOCK))
        state.shared[0] = state.shared[0] + 1
        state.connections[fd] = { data = "", index = 0, number = tonumber(state.shared[0]) }
    end
end

local function serve(state, listener)
    fcntl.fcntl(listener, fcntl.F_SETFL, bit.bor(fcntl.fcntl(listener, fcntl.F_GETFL), fcntl.O_NONBLOCK))
    local parent = unistd.getppid()
    while unistd.getppid() == parent do
        local fds = { [listener] = { events = { IN = true } } }
        for fd in pairs(state.connections) do
            fds[fd] = { events = { IN = true } }
        end
        poll.poll(fds, 200)
        for fd, row in pairs(fds) do
            local seen = row.revents
            if seen and (seen.IN or seen.HUP or seen.ERR) then
                if fd == listener then
                    accept_all(state, listener)
                elseif state.connections[fd] then
                    readable(state, fd)
                end
            end
        end
    end
end

local function listen(options)
    local address
    if options.unix then
        address = { family = socket.AF_UNIX, path = options.unix }
    elseif options.v6 then
        address = { family = socket.AF_INET6, addr = "::1", port = 0 }
    else
        address = { family = socket.AF_INET, addr = "127.0.0.1", port = options.port or 0 }
    end
    local fd = assert(socket.socket(address.family, socket.SOCK_STREAM, 0))
    assert(socket.bind(fd, address))
    assert(socket.listen(fd, options.backlog or 1024))
    return fd, not options.unix and socket.getsockname(fd).port
end

function scripted.start(options)
    local listener, port = listen(options)
    local shared = shared_counters()
    local state = {
        script = options.answer, shared = shared, connections = {},
        whole = options.whole or options.fcgi and fcgi_length or http_length,
    }
    io.stdout:flush()
    local pid = assert(unistd.fork())
    if pid == 0 then
        local signal = require("posix.signal")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        local good, message = true, nil
        if options.accept == false then
            process.pause(3600)
        else
            good, message = pcall(serve, state, listener)
        end
        if not good then
            io.stderr:write("scripted server: ", tostring(message), "\n")
        end
        unistd._exit(good and 0 or 1)
    end
    unistd.close(listener)
    process.spawned[pid] = "scripted server"
    local host = options.v6 and "[::1]" or "127.0.0.1"
    local url
    if options.fcgi then
        url = options.unix and "fcgi+unix:" .. options.unix .. ":/" or "fcgi://" .. host .. ":" .. port .. "/"
    else
        url = options.unix and "http+unix:" .. options.unix .. ":/" or "http://" .. host .. ":" .. port .. "/"
    end
    return setmetatable({ pid = pid, port = port, shared = shared, url = url }, instance)
end

function instance:counts()
    return { connections = tonumber(self.shared[0]), requests = tonumber(self.shared[1]) }
end

function instance:stop()
    process.finish(self.pid, "KILL", 2)
end

return scripted
