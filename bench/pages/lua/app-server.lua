#!/usr/bin/env luajit
-- The application server of the livecode comparison: one long-running process on TCP, answering
-- many connections from one epoll loop.
--
--   app-server.lua HOST:PORT [BACKLOG]
--
-- Protocol: the client sends a line with the path; the answer is a line with the length in bytes
-- and then the page; the connection stays open for the next line until the client closes it.

local bit = require("bit")
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
local EVENTS, LINE_MAX = 64, 8192

local host, port = (arg[1] or "127.0.0.1:9578"):match("^(.*):(%d+)$")
if not host then
    io.stderr:write("app-server: HOST:PORT expected, not ", arg[1], "\n")
    os.exit(100)
end

local function page()
    local body = "<br /><p align='center'>Hello World from testbed 1.0</p><p align='center'>on "
        .. os.date("!%Y-%m-%d") .. "</p>"
    return #body .. "\n" .. body
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
local buffer = ffi.new("char[?]", LINE_MAX)
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

local function serve(fd)
    local size = tonumber(C.recv(fd, buffer, LINE_MAX, 0))
    if size <= 0 then
        if size == 0 or (ffi.errno() ~= EINTR and ffi.errno() ~= EAGAIN) then
            close(fd)
        end
        return
    end
    local text = partial[fd] .. ffi.string(buffer, size)
    local answers = {}
    local rest = text:gsub("[^\n]*\n", function()
        answers[#answers + 1] = page()
        return ""
    end)
    partial[fd] = rest
    local answer = table.concat(answers)
    -- A page is far smaller than a socket's buffer: what does not fit at once is not read.
    if #rest > LINE_MAX or (#answer > 0 and C.send(fd, answer, #answer, MSG_NOSIGNAL) ~= #answer) then
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
        elseif bit.band(events[i].events, 0xff) ~= 0 then
            serve(fd)
        end
    end
end
