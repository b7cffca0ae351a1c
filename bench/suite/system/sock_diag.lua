-- SPDX-License-Identifier: MIT
--
-- Lengths of listen queues, from the kernel's NETLINK_SOCK_DIAG (sock_diag(7)): what "ss -lx" and
-- "ss -lt" print, without a process for each look. php-fpm's own figure is always 0 for unix
-- sockets; this one is right for both kinds.

local bit = require("bit")
local ffi = require("ffi")
local stat = require("posix.sys.stat")

ffi.cdef([[
struct suite_nlmsghdr { uint32_t len; uint16_t type, flags; uint32_t seq, pid; };
struct suite_sockid { uint8_t sport[2], dport[2]; uint32_t src[4], dst[4], interface, cookie[2]; };
struct suite_unix_req {
    struct suite_nlmsghdr head;
    uint8_t family, protocol; uint16_t pad; uint32_t states, ino, show, cookie[2];
};
struct suite_inet_req {
    struct suite_nlmsghdr head;
    uint8_t family, protocol, ext, pad; uint32_t states; struct suite_sockid id;
};
struct suite_unix_msg { uint8_t family, type, state, pad; uint32_t ino, cookie[2]; };
struct suite_inet_msg {
    uint8_t family, state, timer, retrans; struct suite_sockid id;
    uint32_t expires, rqueue, wqueue, uid, inode;
};
struct suite_attribute { uint16_t len, type; };
int socket(int, int, int);
ssize_t send(int, const void *, size_t, int);
ssize_t recv(int, void *, size_t, int);
int close(int);
]])

local AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
local SOCK_RAW_CLOEXEC, NETLINK_SOCK_DIAG = bit.bor(3, 0x80000), 4
local SOCK_DIAG_BY_FAMILY, NLM_F_DUMP_REQUEST = 20, 0x301
local NLMSG_ERROR, NLMSG_DONE = 2, 3
local LISTEN = bit.lshift(1, 10) -- TCP_LISTEN; unix sockets use the same numbers
local SHOW_VFS, SHOW_RQLEN = 2, 0x10
local ATTRIBUTE_VFS, ATTRIBUTE_RQLEN = 1, 4
local BUFFER_BYTES = 65536

local sock_diag = {}
local reader = {}
reader.__index = reader

local function align4(length)
    return bit.band(length + 3, bit.bnot(3))
end

local function unix_request(request)
    request.family, request.states = AF_UNIX, LISTEN
    request.show = SHOW_VFS + SHOW_RQLEN
end

-- Adds the queue of one listening unix socket under the inode of its socket file.
local function unix_message(data, length, found)
    local at, inode, waiting, backlog = align4(ffi.sizeof("struct suite_unix_msg")), nil, nil, nil
    while at + 4 <= length do
        local attribute = ffi.cast("struct suite_attribute *", data + at)
        local value = ffi.cast("uint32_t *", data + at + 4)
        if attribute.len < 4 then
            break
        end
        if attribute.type == ATTRIBUTE_VFS then
            inode = tonumber(value[0])
        elseif attribute.type == ATTRIBUTE_RQLEN then
            waiting, backlog = tonumber(value[0]), tonumber(value[1])
        end
        at = at + align4(attribute.len)
    end
    if inode and waiting then
        found["inode:" .. inode] = { waiting = waiting, backlog = backlog }
    end
end

local function inet_request(family)
    return function(request)
        request.family, request.protocol, request.states = family, 6, LISTEN
    end
end

-- Adds the queue of one listening TCP socket under its port; the sum when several share it.
local function inet_message(data, _, found)
    local message = ffi.cast("struct suite_inet_msg *", data)
    local key = "port:" .. (message.id.sport[0] * 256 + message.id.sport[1])
    local queue = found[key] or { waiting = 0, backlog = 0 }
    queue.waiting = queue.waiting + tonumber(message.rqueue)
    queue.backlog = queue.backlog + tonumber(message.wqueue)
    found[key] = queue
end

local DUMPS = {
    { struct = "struct suite_unix_req", fill = unix_request, take = unix_message, kind = "inode" },
    { struct = "struct suite_inet_req", fill = inet_request(AF_INET), take = inet_message, kind = "port" },
    { struct = "struct suite_inet_req", fill = inet_request(AF_INET6), take = inet_message, kind = "port" },
}

--- Opens a reader; nil and a reason where the kernel does not offer the interface.
function sock_diag.open()
    local fd = ffi.C.socket(AF_NETLINK, SOCK_RAW_CLOEXEC, NETLINK_SOCK_DIAG)
    if fd < 0 then
        return nil, "no NETLINK_SOCK_DIAG here (errno " .. ffi.errno() .. "): listen queues are not seen"
    end
    return setmetatable({ fd = fd, buffer = ffi.new("uint8_t[?]", BUFFER_BYTES) }, reader)
end

-- Runs one dump; false when the kernel refuses it (a family that is not there).
function reader:dump(what, found)
    local request = ffi.new(what.struct)
    request.head.len, request.head.type = ffi.sizeof(request), SOCK_DIAG_BY_FAMILY
    request.head.flags = NLM_F_DUMP_REQUEST
    what.fill(request)
    if ffi.C.send(self.fd, request, ffi.sizeof(request), 0) < 0 then
        return false
    end
    while true do
        local got = tonumber(ffi.C.recv(self.fd, self.buffer, BUFFER_BYTES, 0))
        if got <= 0 then
            return false
        end
        local at = 0
        while at + 16 <= got do
            local head = ffi.cast("struct suite_nlmsghdr *", self.buffer + at)
            if head.type == NLMSG_DONE or head.type == NLMSG_ERROR or head.len < 16 then
                return head.type == NLMSG_DONE
            end
            what.take(self.buffer + at + 16, head.len - 16, found)
            at = at + align4(head.len)
        end
    end
end

--- The key of an address in what read() returns: "unix:/path" by the inode of the socket file
-- (so that relative paths and links do not matter), "host:port" by the port. nil while a socket
-- file does not exist.
function sock_diag.key(address)
    local path = address:match("^unix:(.*)$")
    if not path then
        return "port:" .. address:match("(%d+)$")
    end
    local info = stat.stat(path)
    return info and "inode:" .. info.st_ino
end

--- Queues of all listening sockets of the network namespace: {key = {waiting, backlog}}, waiting
-- connections and the effective backlog (after net.core.somaxconn). <kind> "inode" (unix) or
-- "port" (TCP) reads only those.
function reader:read(kind)
    local found = {}
    for _, what in ipairs(DUMPS) do
        if not kind or what.kind == kind then
            self:dump(what, found)
        end
    end
    return found
end

function reader:close()
    ffi.C.close(self.fd)
end

return sock_diag
