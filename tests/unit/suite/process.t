#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The suite's child processes, files and the command line of the load client.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local files = require("bench.suite.system.files")
local interrupt = require("bench.suite.system.interrupt")
local measure = require("bench.suite.measurement.measure")
local process = require("bench.suite.system.process")

-- Programs.
local result = process.run({ "sh", "-c", "echo out; echo err >&2; exit 3" })
t.is(result.code, 3, "the exit code")
t.is(result.out .. result.err, "out\nerr\n", "both outputs, apart")
t.is(process.run({ "sh", "-c", "kill -9 $$" }).code, 137, "128 and the signal that ended it")
t.is(process.run({ "no-such-program" }).code, 127, "a program that is not there: 127")
t.like(process.run({ "no-such-program" }).err, "cannot be started", "and a reason")
t.is(process.run({ "printf", "%s", "a b\"c'd\n" }).out, "a b\"c'd\n", "arguments reach the program as they are")
t.is(#process.run({ "sh", "-c", "head -c 300000 /dev/zero" }).out, 300000, "output larger than a pipe")
result = process.run({ "sleep", "20" }, { timeout_s = 0.1 })
t.ok(result.timed_out and result.elapsed_s < 5, "a program that takes too long is ended")
local ticks = 0
process.run({ "sleep", "0.3" }, { tick_s = 0.05, tick = function()
    ticks = ticks + 1
end })
t.ok(ticks >= 2, "something may be done while it runs")
local ok, failure = pcall(process.run, { "sleep", "20" }, { tick_s = 0.01, tick = function()
    error({ interrupt = 2 }, 0)
end })
t.ok(not ok and interrupt.is(failure), "an interrupt ends the program and goes on")
t.is(#process.descendants(require("posix.unistd").getpid()), 0, "nothing of it is left")
t.is(process.run({ "sh", "-c", "echo $WHO; pwd" }, { env = { WHO = "me" }, directory = "/" }).out, "me\n/\n", "environment and folder")

-- Several at once, and one that is fed.
local begun = process.now()
local all = process.gather({ process.start({ "sh", "-c", "sleep 0.4; echo a" }),
    process.start({ "sh", "-c", "echo b; exit 4" }), process.start({ "sleep", "20" }) }, { timeout_s = 1 })
t.is(all[1].out .. all[2].out .. all[2].code, "a\nb\n4", "each has its own output and code")
t.ok(all[1].elapsed_s >= 0.4 and all[2].elapsed_s < all[1].elapsed_s, "and its own time")
t.ok(all[3].timed_out and not all[1].timed_out and process.now() - begun < 10, "the late one alone is ended")
local read_end, write_end = process.pipe()
local fed = process.start({ "cat" }, { input = read_end })
local posix_unistd = require("posix.unistd")
posix_unistd.write(write_end, "fed")
posix_unistd.close(write_end)
posix_unistd.close(read_end)
t.is(process.gather({ fed })[1].out, "fed", "standard input from a pipe")

-- Files.
local folder = files.temporary_folder("b\195\164 ")
t.ok(files.make_folder(folder .. "/x y/z"), "folders with blanks")
t.ok(files.write(folder .. "/x y/f", "1") and files.write(folder .. "/x y/f", "22"), "a file is written over")
t.is(files.read(folder .. "/x y/f"), "22", "and read")
t.is(files.read(folder .. "/none"), nil, "a file that is not there")
t.ok(files.point(folder .. "/link", "x y") and files.point(folder .. "/link", "x y/z"), "a link is moved")
t.is(files.kind(folder .. "/link"), "link", "a link is a link")
t.ok(not files.point(folder .. "/x y/f", "x"), "a file is never replaced by a link")
files.remove_tree(folder)
t.is(files.kind(folder), nil, "all is removed")

-- The load client's arguments.
local function words(load)
    return table.concat(measure.arguments("load-client", "http://h/", load), " ")
end
t.is(words({ connections = 10, seconds = 0.4 }), "load-client -f json -c 10 -d 400ms http://h/", "a slot in seconds")
t.is(words({ connections = 1000, requests = 10000000, keep_alive = true, timeout_s = 2.5, headers = { "A: b" },
    expect = { status = 200, bytes = 12 } }),
    "load-client -f json -c 1000 -n 10000000 -k -H A: b --expect-status 200 --expect-length 12 --timeout 2.5s http://h/",
    "a slot in requests, with expectations")
t.like(words({ connections = 1, seconds = 1, expect = { variable = true } }), "%-%-variable", "bodies that may differ")
local parsed = measure.parse('{"requests":{"ok":1},"response_us":{"p99":null,"p50":2}}')
t.ok(parsed and parsed.response_us.p99 == nil and parsed.response_us.p50 == 2, "a percentile of too few samples is absent")
t.is(measure.parse("Segmentation fault"), nil, "no result is no result")

t.done()
