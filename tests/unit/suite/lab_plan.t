#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The command line of scripts/lab becomes hosts, roles, addresses and an inventory; processor
-- shares go where the kernel has them.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local lab_plan = require("bench.suite.lab.lab_plan")
local lab_share = require("bench.suite.lab.lab_share")

local function text(roles, reason)
    local words = {}
    for _, own in ipairs(roles or {}) do
        words[#words + 1] = table.concat(own, "+")
    end
    return roles and table.concat(words, " ") or reason
end

t.case("roles", function()
    local share = lab_plan.share_out
    t.is(text(share(1)), "front+application", "one host")
    t.is(text(share(2)), "load front+application", "two")
    t.is(text(share(3)), "load front application", "three")
    t.is(text(share(5)), "load front application application application", "five")
    t.is(text(share(nil, assert(lab_plan.parse_roles("application=2,load=1")))), "load application application", "as asked")
    t.is(text(share(3, { load = 2 })), "3 hosts, but the roles add up to 2", "a number that does not agree")
    t.is(text(share(65)), "65 hosts: expected 1 to 64", "too many")
    t.is(text(share(nil, { load = 0 })), "0 hosts: expected 1 to 64", "none")
    for _, wrong in ipairs { "lod=1", "load", "load=x", "load=1,load=2", "", "load=1," } do
        local counts, reason = lab_plan.parse_roles(wrong)
        t.ok(not counts and reason:find("expected ROLE=COUNT", 1, true), "'" .. wrong .. "' is refused", tostring(reason))
    end
end)

t.case("delay", function()
    for given, wanted in pairs { ["1ms"] = 1000, ["500us"] = 500, ["0.2s"] = 200000, ["1.5ms"] = 1500 } do
        t.is(lab_plan.parse_delay(given), wanted, given)
    end
    for _, wrong in ipairs { "1", "ms", "0ms", "2s", "1m", "-1ms", "1ms " } do
        t.is(lab_plan.parse_delay(wrong), nil, "'" .. wrong .. "' is refused")
    end
end)

t.case("network", function()
    local free = lab_plan.free_network
    t.is(free {}, "10.213.0.", "the first")
    t.is(free { "10.213.0.7", "127.0.0.0/8", "10.213.2.0/24" }, "10.213.1.", "not where an address is")
    t.is(free { "10.213.0.0/17" }, "10.213.128.", "not within a route")
    t.is(free { "10.0.0.0/8", "0.0.0.0/0" }, "10.213.0.", "a wide route leaves room")
    t.is(free { "10.213.0.0/16" }, nil, "all taken")
end)

t.case("inventory", function()
    local hosts, address = lab_plan.hosts("lab", lab_plan.share_out(2), "10.213.4.", "/var/lib/x")
    t.is(address, "10.213.4.1", "this machine's address")
    local inventory = lab_plan.inventory("lab", hosts, "/var/lib/x", "/checkout")
    t.like(inventory, "%[load%]\nload1 ansible_host=10.213.4.11 testbed_address=10.213.4.11 "
        .. "testbed_folder=/var/lib/x/hosts/load1/work\n", "a host with all that is its own")
    t.like(inventory, "%[front%]\nserver1 ansible_host=10.213.4.12 [^\n]*\n\n%[application%]\nserver1\n",
        "one with two roles is described once")
    t.like(inventory, "StrictHostKeyChecking=yes", "known hosts are checked")
    hosts = lab_plan.hosts("lab", lab_plan.share_out(1), "10.213.4.", "/var/lib/x")
    t.ok(not lab_plan.inventory("lab", hosts, "/x", "/c"):find("[load]", 1, true), "no empty group: that is this machine")
end)

t.case("processor share", function()
    local function find(mountinfo, controllers)
        return lab_share.find(mountinfo, function(path)
            return path == "/sys/fs/cgroup/cgroup.controllers" and controllers or nil
        end)
    end
    local v1 = "30 27 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpuacct,cpu\n"
    local v2 = "31 27 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
    t.is(find(v1).folder, "/sys/fs/cgroup/cpu,cpuacct", "version 1")
    local both = find(v2 .. v1, "hugetlb\n")
    t.is(both and both.version, 1, "both are mounted: where the controller is")
    local second = find(v2, "cpuset cpu io\n")
    t.is(second and second.version, 2, "version 2")
    t.like(select(2, find(v2, "cpuset io\n")), "no cpu controller", "version 2 without it: said")
    t.like(select(2, find("", "")), "no control groups", "none: said")
    t.is(find("29 2 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"), nil, "another controller's name is not taken for it")
    t.is(table.concat({ lab_share.quota(0.5) }, " "), "5000 10000", "half a processor")
    t.is(table.concat({ lab_share.quota(2) }, " "), "20000 10000", "two")
    t.is(table.concat({ lab_share.quota(0.01) }, " "), "1000 100000", "a hundredth: the kernel's least quota")
end)

t.done()
