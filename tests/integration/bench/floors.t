#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The programs that bench-client and bench-server measure against: arguments that are no numbers
-- are refused, not taken for 0.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

for _, row in ipairs {
    { 1, "client-floor", "http", "1", "1" },
    { 1, "client-floor", "80x", "1", "1" },
    { 1, "client-floor", "65536", "1", "1" },
    { 1, "client-floor", "80", "-1", "1" },
    { 1, "client-floor", "80", "1", "1m" },
    { 1, "client-floor", "80", "1", "nan" },
    { 100, "floor-responder", "0" },
    { 100, "floor-responder", "80x" },
    { 100, "floor-responder", "unix:" .. t.dir .. "/floor", "two" },
} do
    local wanted = table.remove(row, 1)
    local words = table.concat(row, " "):gsub(t.dir, "")
    row[1] = t.build .. "/" .. row[1]
    row.timeout = 5
    local result = process.run(row)
    t.ok(result.status == wanted and result.err:find("give ", 1, true), words, result.err)
end

local address = "unix:" .. t.dir .. "/floor"
local read_end, write_end = require("posix.unistd").pipe()
process.spawn { t.build .. "/floor-responder", address, "2", stdout = write_end }
t.is(require("posix.unistd").read(read_end, 6), "ready\n", "the responder starts")
t.is(t.fcgi.get(address, "/").body, "hello world\n", "and answers")
t.done()
