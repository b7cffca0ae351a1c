#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The stacks of other people's programs: every page exact, no error logged, nothing left.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local stacks = require("stacks")
local stack = stacks.module

for _, name in ipairs(stacks.names(false)) do
    stacks.check(name, { children = 2 })
end

-- The other ways to reach an application.
stacks.check("nginx-php-fpm", { variant = "documented", tcp = true, children = 2 }, "php-fpm on a TCP port, documented")
stacks.check("nginx-php-cgi", { tcp = true, workers = 2, children = 2, keepalive = 1 }, "php-cgi on a TCP port, 2 workers")
stacks.check("nginx-fcgiwrap", { tcp = true, children = 2 }, "fcgiwrap on a TCP port")
stacks.check("apache-mod-php", { variant = "documented", children = 4 }, "Apache, documented")

t.case("kept connections", function()
    if stack.missing("nginx-php-proxy") then
        return t.skip("php-fpm", stack.missing("nginx-php-proxy"))
    end
    for _, children in ipairs { 1, 2, 4 } do
        local s = assert(stack.up("nginx-php-proxy", { children = children, keepalive = 8, workers = 2 }))
        t.is(s.keepalive, math.floor(children / 2),
            children .. " blocking children behind 2 workers: no more than they can hold")
        t.ok(#s.notes > 0, "and it says so")
        stack.down(s)
    end
end)

t.done()
