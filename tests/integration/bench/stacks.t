#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The stacks that this project's own programs are part of, and nginx alone: every page exact, no
-- error logged, nothing left. (The others: stacks_peers.t.)
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local stacks = require("stacks")
local stat = require("posix.sys.stat")

for _, name in ipairs(stacks.names(true)) do
    stacks.check(name, { children = 2 })
end

stacks.check("nginx-fcgi-c", { variant = "documented", children = 4 }, "nginx-fcgi-c, documented")
stacks.check("nginx-fcgi-lua", { engine = "libfcgi", children = 4, workers = 2 }, "nginx-fcgi-lua, engine libfcgi")

t.case("at once, as after Ctrl-C", function()
    local up, pids = {}, {}
    for i, name in ipairs { "nginx-fcgi-c", "nginx-spawn-fcgi" } do
        up[i] = assert(stacks.module.up(name, { children = 64 }))
        for _, group in ipairs(up[i].groups) do
            for _, pid in ipairs(group.pids()) do
                pids[#pids + 1] = pid
            end
        end
    end
    local began = t.now()
    stacks.module.down_all(true)
    t.ok(t.now() - began < 3, ("%d processes of two stacks are ended within three seconds (%.1f s)"):format(#pids, t.now() - began))
    local alive = 0
    for _, pid in ipairs(pids) do
        alive = alive + (t.process.alive(pid) and 1 or 0)
    end
    t.is(alive, 0, "none of them lives")
    t.ok(not stat.lstat(up[1].folder) and not stat.lstat(up[2].folder), "no socket or file is left")
end)

t.is(select(2, stacks.module.up("no-such-stack")), "no stack of this name; scripts/stack list shows them", "an unknown name")

t.done()
