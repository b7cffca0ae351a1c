#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Several machines, the pure parts: words for a remote shell, inventories, ssh's command line, clocks.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local cjson = require("cjson")
local clock = require("bench.suite.hosts.clock")
local inventory = require("bench.suite.hosts.inventory")
local ssh = require("bench.suite.hosts.ssh")
local words = require("bench.suite.hosts.words")

t.case("words", function()
    local hard = { "a b", "", "'", "$x `y` \\", "*", "line\nline", "-n", "\195\164", "a=b;c", "~", "!x", "\\'" }
    for _, shell in ipairs { "sh", "bash" } do
        local seen = t.process.run { shell, "-c", "for word in " .. words.quote(hard) .. "; do printf '%s\\0' \"$word\"; done" }
        t.is(seen.out, table.concat(hard, "\0") .. "\0", shell .. " reads the words as they were")
    end
    t.is(words.quote { "/bin/ls", "-l", 7 }, "/bin/ls -l 7", "plain words stay plain")
    t.ok(not pcall(words.quote, { "a\0b" }), "a zero byte is refused")
    local function split(text)
        return table.concat(words.split(text) or { "nil" }, "|")
    end
    t.is(split [[-o "A=b c"  -i '/x y' a\ b ""]], [[-o|A=b c|-i|/x y|a b|]], "quotes and backslashes")
    t.is(split [["a\"b" 'a\b' "\x"]], [[a"b|a\b|\x]], "inside quotes")
    t.is(split "", "", "nothing")
    t.like(select(2, words.split "a 'b"), "not closed", "an open quote is an error")
end)

local function listed(hostvars, groups)
    groups._meta = { hostvars = hostvars }
    return inventory.parse(cjson.encode(groups))
end

t.case("inventory", function()
    local found = listed({
        a = { ansible_host = "192.0.2.1", ansible_port = "2222", ansible_user = "me", ansible_ssh_private_key_file = "/k",
            ansible_ssh_common_args = "-o 'A=b c'", testbed_address = "198.51.100.1", testbed_folder = "/srv/bed",
            testbed_ports = "3000-3009" },
        b = {},
    }, {
        load = { hosts = { "b" } },
        application = { hosts = { "a" }, children = { "more" } },
        more = { hosts = { "b", "a" } },
        unrelated = { hosts = { "c" } },
    })
    t.is(#found.hosts .. #found.load .. #found.front .. #found.application, "2102", "hosts by group, groups below as well")
    local a, b = found.application[1], found.load[1]
    t.is(found.application[2], b, "a host in two groups is one")
    t.ok(b.roles.load and b.roles.application and not b.roles.front, "with both roles")
    t.is(a.ssh.port .. a.ssh.user .. a.ssh.key .. a.ssh.options[2], "2222me/kA=b c", "what ssh needs")
    t.is(a.address .. a.checkout .. a.ports.last, "198.51.100.1/srv/bed/checkout3009", "where its programs are")
    t.is(b.ssh.address .. b.address .. b.checkout, "bbbackend-testbed/checkout", "the defaults")
    for what, variables in pairs {
        ["passwords are not used"] = { ansible_password = "x" },
        ["leave the host out"] = { ansible_connection = "local" },
        ["is a template"] = { ansible_host = "{{ x }}" },
        ["expected a number"] = { ansible_port = "ssh" },
        ["expected FIRST%-LAST"] = { testbed_ports = "80" },
        ["expected a folder of its own"] = { testbed_folder = "/" },
        ["a quote is not closed"] = { ansible_ssh_common_args = "-o 'x" },
    } do
        t.like(select(2, listed({ h = variables }, { load = { hosts = { "h" } } })), "^h: .*" .. what, what)
    end
    t.like(select(2, listed({}, { web = { hosts = { "x" } } })), "no host in the groups load, front, application", "no host for us")
    t.like(select(2, inventory.parse("oops")), "no JSON", "no inventory")
    t.like(select(2, inventory.read("/none")), "^/none: no such file", "no file")
end)

t.case("ssh", function()
    local found = listed({ h = { ansible_host = "192.0.2.1", ansible_user = "me", ansible_ssh_private_key_file = "/k",
        ansible_ssh_common_args = "-o StrictHostKeyChecking=no" } }, { load = { hosts = { "h" } } })
    local text = table.concat(ssh.master_command(found.hosts[1], "/s"), " ")
    t.like(text, "^ssh %-N %-T %-S /s ", "a connection with a socket")
    t.ok(text:find("StrictHostKeyChecking=yes", 1, true) < text:find("StrictHostKeyChecking=no", 1, true),
        "the first value counts: known hosts are checked, whatever the inventory says")
    t.like(text, "BatchMode=yes", "nothing is asked")
    t.like(text, "%-l me %-i /k .* %-%- 192%.0%.2%.1$", "user, key, address")
end)

t.case("clock", function()
    local estimate = clock.estimate {
        { sent_s = 100, told_s = 107.5, received_s = 101 },
        { sent_s = 102, told_s = 109.1, received_s = 102.2 },
        { sent_s = 104, told_s = 111.2, received_s = 104.5 },
        { sent_s = 106, told_s = 113, received_s = 105 },
    }
    t.ok(math.abs(estimate.offset_s - 7) < 1e-9 and math.abs(estimate.error_s - 0.1) < 1e-9, "the shortest round trip counts")
    t.is(estimate.samples, 4, "of so many")
    t.is(clock.estimate {}, nil, "no sample, no estimate")
end)

t.done()
