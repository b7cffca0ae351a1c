-- SPDX-License-Identifier: MIT
--
-- The network of a lab: one namespace for each host, one more with a bridge (the switch) that joins
-- them, and a pair of interfaces from this machine to the switch. The bridge stands apart so that
-- no packet filter of this machine sees what passes between two hosts.

local files = require("bench.suite.system.files")
local process = require("bench.suite.system.process")

local NAMESPACES = "/run/netns"
local SWITCH = "switch"
-- Packets that wait for their time: netem's own 1,000 would drop at high rates.
local DELAYED_PACKETS = 200000

local lab_network = {}

local function ip(...)
    local result = process.run({ "ip", ... }, { timeout_s = 20 })
    if result.code ~= 0 then
        error(("ip %s: %s"):format(table.concat({ ... }, " "), result.err:gsub("%s+$", "")), 0)
    end
    return result.out
end

local function prefix(name)
    return "testbed-" .. name .. "-"
end

local function gate_link(name)
    return "tb-" .. name
end

--- Destinations of all routes and addresses of this machine, as "ADDRESS/BITS".
function lab_network.routes()
    local list = {}
    local text = ip("-4", "-o", "route", "show", "table", "all") .. ip("-4", "-o", "addr", "show")
    for line in text:gmatch("[^\n]+") do
        list[#list + 1] = line:match("^[%a ]*([%d.]+/?%d*)") or line:match("inet ([%d.]+/%d+)")
    end
    return list
end

--- Makes the switch of lab <name> and this machine's end, with <address>. Raises an error.
function lab_network.make_switch(name, address)
    local switch = prefix(name) .. SWITCH
    ip("netns", "add", switch)
    ip("-n", switch, "link", "add", "bridge", "type", "bridge")
    ip("-n", switch, "link", "set", "bridge", "up")
    ip("link", "add", gate_link(name), "type", "veth", "peer", "name", "gate", "netns", switch)
    ip("-n", switch, "link", "set", "gate", "master", "bridge", "up")
    ip("addr", "add", address .. "/24", "dev", gate_link(name))
    ip("link", "set", gate_link(name), "up")
end

--- Makes the namespace of <host> (of lab_plan.hosts) and joins it to the switch. Raises an error.
function lab_network.make_host(name, host)
    local switch, port = prefix(name) .. SWITCH, "port" .. host.number
    ip("netns", "add", host.namespace)
    ip("-n", host.namespace, "link", "set", "lo", "up")
    ip("-n", host.namespace, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", switch)
    ip("-n", switch, "link", "set", port, "master", "bridge", "up")
    ip("-n", host.namespace, "addr", "add", host.address .. "/24", "dev", "eth0")
    ip("-n", host.namespace, "link", "set", "eth0", "up")
end

--- Delays all that leaves a host or this machine's end by <delay_us>, so that every round trip
-- takes twice that. nil, or why this kernel cannot: the network then stands without delay.
function lab_network.delay(name, hosts, delay_us)
    local function add(words)
        local command = { "tc" }
        for _, word in ipairs(words) do
            command[#command + 1] = word
        end
        for word in ("root netem limit %d delay %dus"):format(DELAYED_PACKETS, delay_us):gmatch("%S+") do
            command[#command + 1] = word
        end
        local result = process.run(command, { timeout_s = 20 })
        if result.code == 0 then
            return nil
        end
        -- tc(8) says this where neither the kernel nor a module has it.
        return result.err:find("kind is unknown", 1, true) and "this kernel has no netem (CONFIG_NET_SCH_NETEM)"
            or result.err:gsub("%s+", " ")
    end
    local why = add({ "qdisc", "add", "dev", gate_link(name) })
    for _, host in ipairs(hosts) do
        why = why or add({ "-n", host.namespace, "qdisc", "add", "dev", "eth0" })
    end
    return why
end

--- Names of the namespaces of lab <name> that exist, whoever knows of them.
function lab_network.namespaces(name)
    local found = {}
    for _, namespace in ipairs(files.list(NAMESPACES)) do
        if namespace:sub(1, #prefix(name)) == prefix(name) then
            found[#found + 1] = namespace
        end
    end
    return found
end

--- Pids of the processes in <namespace>.
function lab_network.pids(namespace)
    local pids = {}
    for number in process.run({ "ip", "netns", "pids", namespace }, { timeout_s = 20 }).out:gmatch("%d+") do
        pids[#pids + 1] = tonumber(number)
    end
    return pids
end

--- Removes the namespaces of lab <name>, which must be empty of processes, and this machine's end.
function lab_network.remove(name)
    for _, namespace in ipairs(lab_network.namespaces(name)) do
        process.run({ "ip", "netns", "del", namespace }, { timeout_s = 20 })
    end
    -- Its other end went with the switch, and it with that; the kernel takes its time.
    if files.kind("/sys/class/net/" .. gate_link(name)) then
        process.run({ "ip", "link", "del", gate_link(name) }, { timeout_s = 20 })
    end
end

return lab_network
