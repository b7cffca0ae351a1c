#!/usr/bin/env luajit
-- The application server of the livecode comparison: one long-running process on TCP, answering
-- many connections from one epoll loop.
--
--   app-server.lua HOST:PORT [BACKLOG]
--
-- Protocol:
--   client:  GET <name>\n       name: [A-Za-z0-9_./-], at most 100 bytes
--   server:  <length>\n<body>   length: decimal, of the body in bytes
--   server:  -1\n               there is no page of that name
-- The connection stays open for the next request until the client closes it; the server closes
-- when a line is anything else.

local ffi = require("ffi")
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")

ffi.cdef([[
struct app_event { uint32_t events; int32_t fd; uint32_t high; } __attribute__((packed));
int epoll_create1(int flags);
int epoll_ctl(int epoll, int what, int fd, struct app_event *event);
int epoll_wait(int epoll, struct app_event *events, int most, int timeout_ms);
int accept4(int fd, void *address, void *length, int flags);
ssize_t recv(int fd, void *buffer, size_t size, int flags);
ssize_t send(int fd, const void *buffer, size_t size, int flags);
int setsockopt(int fd, int level, int name, const void *value, unsigned int size);
]])
local C = ffi.C
local EPOLLIN, ADD, EINTR, EAGAIN = 1, 1, 4, 11
local NONBLOCK_CLOEXEC, MSG_NOSIGNAL = 0x80800, 0x4000
local EVENTS, INPUT_MAX, LINE_MAX = 64, 8192, 128

local host, port = (arg[1] or "127.0.0.1:9578"):match("^(.*):(%d+)$")
if not host then
    io.stderr:write("app-server: HOST:PORT expected, not ", arg[1], "\n")
    os.exit(100)
end

local pages = {}

function pages.livecode()
    return "<br /><p align='center'>Hello World from testbed 1.0</p><p align='center'>on "
        .. os.date("!%Y-%m-%d") .. "</p>"
end

-- The answer to one line without its end; nil when it is no request.
local function answer_to(line)
    local name = line:match("^GET ([%w_./-]+)$")
    if not name or #name > 100 then
        return nil
    end
    local body = pages[name] and pages[name]()
    return body and #body .. "\n" .. body or "-1\n"
end

local function check(value, what)
    if not value or value == -1 then
        io.stderr:write("app-server: ", what, " (", arg[1], ")\n")
        os.exit(111)
    end
    return value
end

local listener = check(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0), "socket")
socket.setsockopt(listener, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
local address = { family = socket.AF_INET, addr = host, port = tonumber(port) }
check(socket.bind(listener, address), "cannot bind")
check(socket.listen(listener, tonumber(arg[2] or 4096)), "cannot listen")
-- Several events may tell of one connection: accept must not wait for a second one.
local fcntl = require("posix.fcntl")
fcntl.fcntl(listener, fcntl.F_SETFL, fcntl.O_NONBLOCK)

local epoll = check(C.epoll_create1(0x80000), "epoll_create1")
local event = ffi.new("struct app_event")
local function watch(fd)
    event.events, event.fd = EPOLLIN, fd
    C.epoll_ctl(epoll, ADD, fd, event)
end
watch(listener)

local partial = {} -- fd -> what came of a line so far
local buffer = ffi.new("char[?]", INPUT_MAX)
local one = ffi.new("int[1]", 1)

local function close(fd)
    partial[fd] = nil
    unistd.close(fd)
end

local function take()
    local fd = C.accept4(listener, nil, nil, NONBLOCK_CLOEXEC)
    if fd >= 0 then
        C.setsockopt(fd, 6, 1, one, 4) -- TCP_NODELAY
        partial[fd] = ""
        watch(fd)
    end
end

-- Answers each whole line of <text>; what is left of the last one, or nil when a line was wrong.
local function answer_lines(fd, text)
    while true do
        local line, rest = text:match("^([^\n]*)\n(.*)$")
        if not line then
            return #text <= LINE_MAX and text or nil
        end
        local answer = answer_to(line)
        -- A page is far smaller than a socket's buffer: who has not read so many is cut off.
        if not answer or C.send(fd, answer, #answer, MSG_NOSIGNAL) ~= #answer then
            return nil
        end
        text = rest
    end
end

local function serve(fd)
    local size = tonumber(C.recv(fd, buffer, INPUT_MAX, 0))
    if size < 0 and (ffi.errno() == EINTR or ffi.errno() == EAGAIN) then
        return
    end
    local rest = size > 0 and answer_lines(fd, partial[fd] .. ffi.string(buffer, size))
    if rest then
        partial[fd] = rest
    else
        close(fd)
    end
end

local events = ffi.new("struct app_event[?]", EVENTS)
while true do
    local count = C.epoll_wait(epoll, events, EVENTS, -1)
    for i = 0, count - 1 do
        local fd = events[i].fd
        if fd == listener then
            take()
        else
            serve(fd)
        end
    end
end
