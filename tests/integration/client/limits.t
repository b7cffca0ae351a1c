#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Limits and addresses: descriptors, local ports, IPv6, names with several
-- addresses, unix sockets, a peer that never accepts.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process

local OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
local function ok()
    return OK
end

-- A hard limit of 64 cannot be raised by an ordinary user; as root it can.
local function descriptors()
    local server = t.scripted.start { answer = ok }
    local command = "ulimit -n 64; exec \"$0\" -q -f json -n 1000 -c 1000 -k \"$1\""
    local result = process.run { "bash", "-c", command, load.program, server.url }
    local good, report = pcall(require("cjson").decode, result.out)
    t.ok((result.status == 0 and good and report.requests.ok == 1000)
        or (result.status == 1 and result.err:find("1%d%d%d")),
        "64 descriptors for 1,000 connections: raised, or refused with the number needed",
        tostring(result.status) .. " " .. result.err)
    server:stop()
end

local function addresses()
    local server = t.scripted.start { answer = ok, unix = t.dir .. "/http.sock" }
    local report, result = load.run { "-n", 20, "-c", 2, server.url }
    t.is(report.requests.ok, 20, "HTTP over a unix socket", load.summary(report, result))
    server:stop()
    if not process.read_file("/proc/net/if_inet6") then
        t.skip("IPv6", "this machine has none")
        return
    end
    local host_file = t.dir .. "/host"
    server = t.scripted.start {
        v6 = true,
        answer = function(_, request)
            process.write_file(host_file, request:match("\r\n[Hh]ost: ([^\r]*)") or "none")
            return OK
        end,
    }
    report, result = load.run { "-n", 20, "-c", 2, server.url }
    t.ok(report.requests.ok == 20, "IPv6", load.summary(report, result))
    t.is(process.read_file(host_file), "[::1]:" .. server.port, "the Host header has brackets and port")
    server:stop()
    -- The resolver gives ::1 first for localhost; the server is on 127.0.0.1 only.
    server = t.scripted.start { answer = ok }
    report, result = load.run { "-n", 20, "-c", 2, "http://localhost:" .. server.port .. "/" }
    t.ok(report.requests.ok == 20, "a name with several addresses: the next one is tried",
        load.summary(report, result))
    server:stop()
end

local function never_accepts()
    local server = t.scripted.start { accept = false, backlog = 0 }
    -- Fill the queue, so that connects hang.
    local socket = require("posix.sys.socket")
    local fcntl = require("posix.fcntl")
    local fds = {}
    for index = 1, 4 do
        local fd = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
        socket.connect(fd, { family = socket.AF_INET, addr = "127.0.0.1", port = server.port })
        fds[index] = fd
    end
    local start = t.now()
    local report, result = load.run { "-n", 2, "-c", 2, "--connect-timeout", "1s", server.url, timeout = 15 }
    local seconds = t.now() - start
    t.ok(report.requests.ok == 0 and report.requests.failed == 2 and seconds < 9, -- 10 without the option
        "a peer that never accepts: the connect timeout is kept", seconds .. " s; " .. load.summary(report, result))
    t.ok((report.failures.timeout or 0) + (report.failures.connect or 0) == 2, "and counted apart",
        load.summary(report, result))
    for _, fd in ipairs(fds) do
        require("posix.unistd").close(fd)
    end
    server:stop()
end

-- In a network namespace of its own with few local ports.
local function ports()
    local script = [[
        ip link set lo up && echo "40000 40099" >/proc/sys/net/ipv4/ip_local_port_range || exit 77
        exec "$@"
    ]]
    local inner = t.dir .. "/ports.lua"
    process.write_file(inner, ([[
        package.path = %q .. "/tests/lib/?.lua;" .. package.path
        local t = require("testing")
        local server = t.scripted.start { port = 8000, answer = function() return %q end }
        local report, result = t.load.run { "-d", "2s", "-c", 150, "-k", server.url, timeout = 20 }
        print("failed " .. tostring(report.requests.failed), "elapsed " .. tostring(report.elapsed_s),
            "closes " .. tostring(t.load.closes(report)), "cpu " .. tostring(report.client_cpu_s))
        print("reasons " .. table.concat(report.reasons or {}, "; ") .. result.err)
        server:stop()
        os.exit(0)
    ]]):format(t.root, OK))
    local result = process.run {
        "unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c", script, "sh", "luajit", inner, timeout = 30,
    }
    if result.status == 77 or (result.err:find("unshare") and result.status ~= 0) then
        t.skip("local ports exhausted", "no private network namespace can be made here")
        return
    end
    local failed, elapsed = tonumber(result.out:match("failed (%d+)")), tonumber(result.out:match("elapsed ([%d.]+)"))
    t.ok(failed and failed > 0 and result.out:find("closes true"), "local ports run out: counted as failures",
        result.out .. result.err)
    t.ok(elapsed and elapsed < 4, "and the run ends in time", result.out)
    t.like(result.out:match("reasons (.*)") or "", "port", "and the ports are named as the reason")
    local cpu = tonumber(result.out:match("cpu ([%d.]+)"))
    t.ok(cpu and cpu < 1.5, "without a tight loop", result.out)
end

descriptors()
addresses()
never_accepts()
ports()
t.done()
