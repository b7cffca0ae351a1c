#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The stacks that this project's own programs are part of, and nginx alone: every page exact, no
-- error logged, nothing left. (The others: stacks_peers.t.)
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local stacks = require("stacks")

for _, name in ipairs {
    "nginx-static", "nginx-return", "nginx-lua", "nginx-lua-proxy", "nginx-floor", "nginx-libfcgi-loop",
    "nginx-fcgi-c", "nginx-fcgi-lua", "nginx-spawn-fcgi", "nginx-fcgi-proxy", "lighttpd-fcgi",
} do
    stacks.check(name, { children = 2 })
end

stacks.check("nginx-fcgi-c", { variant = "documented", children = 4 }, "nginx-fcgi-c, documented")
stacks.check("nginx-fcgi-lua", { engine = "libfcgi", children = 4, workers = 2 }, "nginx-fcgi-lua, engine libfcgi")

t.is(select(2, stacks.module.up("no-such-stack")), "no stack of this name; scripts/stack list shows them", "an unknown name")

t.done()
