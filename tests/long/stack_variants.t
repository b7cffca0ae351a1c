#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Every stack in both variants, documented and tuned: the same bytes, no error logged, nothing left.
-- (With few children: that a thousand come up is shown by many_children.t.)
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local stacks = require("stacks")

for _, name in ipairs(stacks.module.names()) do
    for _, variant in ipairs { "documented", "tuned" } do
        stacks.check(name, { variant = variant, children = 4 }, name .. ", " .. variant)
    end
end

t.done()
