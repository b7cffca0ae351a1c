#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The sampler sees CPU time, memory, switches, bytes and listen queues as they are.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")

local proc = require("bench.suite.system.proc")
local sample = require("bench.suite.measurement.sample")
local sock_diag = require("bench.suite.system.sock_diag")

-- Texts as proc(5) prints them.
local stat = proc.parse_stat("42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 25 75 20 0 3 0 9876 1 2 3")
t.is(stat.ppid, 7, "a program name with brackets does not confuse the fields")
t.is(stat.user_s, 1.5, "user time in seconds")
t.is(stat.reaped_system_s, 0.75, "time of reaped children")
t.is(stat.threads .. " " .. stat.start_ticks, "3 9876", "threads and start")
t.is(proc.parse_stat(""), nil, "a process that is gone is nil")
local dev = "Inter-| Receive\n face |bytes\n    lo: 100 2 0 0 0 0 0 0 300 4 0 0 0 0 0 0\n  eth0: 1 1 0 0 0 0 0 0 1 1\n"
t.is(proc.parse_interface(dev, "lo").tx_bytes, 300, "bytes of the loopback interface")
local netstat = "TcpExt: A ListenOverflows ListenDrops\nTcpExt: 1 22 33\nIpExt: X\nIpExt: 5\n"
t.is(proc.parse_netstat(netstat, "TcpExt").ListenDrops, 33, "a kernel counter by its name")
t.is(proc.parse_netstat(netstat, "IpExt").X, 5, "of the section that was asked for")

-- A process that works for 0.3 s by its own clock, then waits.
local busy = t.process.spawn { "luajit", "-e",
    "while os.clock() < 0.3 do end require('posix.poll').poll({}, 60000)" }
local groups = { { name = "busy", pids = function() return { busy } end } }
t.poll(10, function() return proc.process(busy).run_s >= 0.3 and proc.process(busy).state == "S" end)
local seen = sample.take(groups).groups.busy
t.is(seen.count, 1, "the group is seen while it lives")
t.ok(seen.cpu_s >= 0.3 and seen.cpu_s < 0.35, ("0.3 s of work are seen as %.4f s"):format(seen.cpu_s))
t.process.finish(busy, "KILL", 5)
t.is(sample.take(groups).groups.busy.count, 0, "a dead process is no member")

local sleeper = t.process.spawn { "luajit", "-e",
    "while true do local stop = os.clock() + 0.02 while os.clock() < stop do end "
    .. "require('posix.poll').poll({}, 20) end" }
groups[1].pids = function() return { sleeper } end
t.poll(5, function() return (proc.process(sleeper) or {}).voluntary or 0 > 3 end)
local path = t.dir .. "/samples.json"

-- Listen queues of both kinds, with connections that nobody accepts.
local unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0)
socket.bind(unix, { family = socket.AF_UNIX, path = t.dir .. "/queue.sock" })
socket.listen(unix, 5)
local port = t.free_port()
local inet = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
socket.bind(inet, { family = socket.AF_INET, addr = "127.0.0.1", port = port })
socket.listen(inet, 7)
local queues = { { name = "unix", address = "unix:" .. t.dir .. "/queue.sock" },
    { name = "tcp", address = "127.0.0.1:" .. port } }

local before = sample.take(groups)
local sampler = sample.start(groups, { path = path, interval_s = 0.1, queues = queues, memory = true })
local clients = {}
for i = 1, 3 do
    clients[i] = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0)
    socket.connect(clients[i], { family = socket.AF_UNIX, path = t.dir .. "/queue.sock" })
end
clients[4] = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
socket.connect(clients[4], { family = socket.AF_INET, addr = "127.0.0.1", port = port })
socket.send(clients[4], ("x"):rep(20000))
t.poll(5, function()
    local text = t.read_file(path) or ""
    local _, lines = text:gsub("\n", "")
    return lines >= 5
end)
local records = sample.stop(sampler)
local after = sample.take(groups, { memory = true })
local change = sample.difference(before, after)
local used = change.groups.busy

t.ok(#records >= 5, "the sampler wrote a record per interval")
local steps = true
for i = 2, #records - 1 do
    local step = records[i].monotonic_s - records[i - 1].monotonic_s
    steps = steps and step > 0.05 and records[i].at_s > 1.7e9
end
t.ok(steps, "records carry absolute and monotonic times, an interval apart")
local cost = records[#records].cost_s
t.ok(cost > 0 and cost < 0.5 * change.elapsed_s, "and what the sampling cost: " .. cost .. " s")
t.ok(used.cpu_s > 0 and used.cpu_s <= change.elapsed_s, ("CPU time %.3f s of %.3f s elapsed"):format(used.cpu_s,
    change.elapsed_s))
t.ok(math.abs(used.cpu_s - used.user_s - used.system_s) <= 0.03, "the fine time and the ticks agree within ticks")
t.ok(used.voluntary_switches > 0, "voluntary switches are counted")
t.ok(used.pss_kib > 0 and used.pss_kib <= used.rss_kib, "proportional memory is at most the resident")
t.is(used.started_processes, 0, "no process was replaced")
t.ok(change.loopback.rx_bytes >= 20000, "bytes on the loopback interface are counted")
local maxima = {}
for _, queue in ipairs(sample.queue_maxima(records)) do
    maxima[queue.name] = queue.max .. " of " .. queue.backlog
end
t.is(maxima.unix, "3 of 5", "waiting connections of a unix socket and its backlog")
t.is(maxima.tcp, "1 of 7", "and of a TCP socket")
t.is(sock_diag.key("unix:" .. t.dir .. "/none.sock"), nil, "a missing socket file has no queue")

t.process.finish(sleeper, "KILL", 5)
groups[1].pids = function() return { unistd.getpid() } end
t.is(sample.difference(after, sample.take(groups)).groups.busy.started_processes, 1, "a new process in a group is counted")

-- The sampler never outlives its parent.
t.write_file(t.dir .. "/orphan.lua", [[
    package.path = arg[1] .. "/?.lua;" .. package.path
    local sample = require("bench.suite.measurement.sample")
    local handle = sample.start({}, { path = arg[2], interval_s = 0.05 })
    print(handle.pid)
]])
local orphan = t.process.run { "luajit", t.dir .. "/orphan.lua", t.root, t.dir .. "/orphan.json", timeout = 10 }
local pid = tonumber(orphan.out:match("%d+"))
t.ok(pid and t.poll(5, function() return not proc.process(pid) or proc.process(pid).state == "Z" end),
    "a sampler whose parent is gone ends")
for _, fd in ipairs(clients) do
    unistd.close(fd)
end
unistd.close(unix)
unistd.close(inet)
t.done()
