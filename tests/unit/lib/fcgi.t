#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The tests' own FastCGI bytes agree with the examples of the specification.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi = t.fcgi

t.is(fcgi.begin(1, { keep = true }), "\1\1\0\1\0\8\0\0" .. "\0\1\1\0\0\0\0\0", "a BEGIN record")
t.is(fcgi.pair("AB", "c"), "\2\1ABc", "a short pair")
t.is(fcgi.pair("n", ("x"):rep(128)):sub(1, 6), "\1\128\0\0\128n", "a long value has four bytes of length")
local bytes = fcgi.record(fcgi.STDOUT, 300, "abc", 5)
local records, rest = fcgi.records(bytes .. "\1\6\0")
t.is(#records, 1, "one whole record is found")
t.is(records[1].id, 300, "its id has two bytes")
t.is(records[1].content, "abc", "padding is no content")
t.is(rest, "\1\6\0", "a piece of a record is left over")
t.is(fcgi.stream(fcgi.STDIN, 1, ""), fcgi.record(fcgi.STDIN, 1, ""), "an empty stream is one empty record")
t.is(#fcgi.noise(1000, 7), 1000, "noise has its length")
t.is(fcgi.noise(64, 7), fcgi.noise(64, 7), "the same seed gives the same noise")
t.done()
