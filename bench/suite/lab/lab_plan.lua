-- SPDX-License-Identifier: MIT
--
-- What a lab consists of, from its command line: hosts, their roles, names and addresses, and the
-- inventory that describes them. Pure: no files, no processes.

local lab_plan = {}

--- Groups of the inventory, in the order of a request's way.
lab_plan.ROLES = { "load", "front", "application" }
--- Most hosts of one lab: addresses end in 11 to 74.
lab_plan.MOST_HOSTS = 64

local FIRST_ADDRESS = 11
local GATE_ADDRESS = 1 -- this machine's end
local NETWORKS = 256 -- 10.213.0.0/24 to 10.213.255.0/24
local NARROW = 16 -- a wider route (a VPN's 10.0.0.0/8) leaves room for a /24 in it
local PORT = 22

--- Text like "load=1,front=1,application=8": a table of counts. nil and what was expected.
function lab_plan.parse_roles(text)
    local counts = {}
    for part in (text .. ","):gmatch("([^,]*),") do
        local role, count = part:match("^(%l+)=(%d+)$")
        count = tonumber(count)
        local known = false
        for _, name in ipairs(lab_plan.ROLES) do
            known = known or name == role
        end
        if not known or counts[role] then
            return nil, ("'%s': expected ROLE=COUNT, each role once; roles: %s"):format(
                part, table.concat(lab_plan.ROLES, ", "))
        end
        counts[role] = count
    end
    return counts
end

--- Text like "1ms", "500us", "0.2s": microseconds. nil and what was expected.
function lab_plan.parse_delay(text)
    local number, unit = text:match("^(%d+%.?%d*)(%l+)$")
    local factor = ({ us = 1, ms = 1e3, s = 1e6 })[unit]
    local delay_us = factor and math.floor(number * factor + 0.5)
    if not delay_us or delay_us < 1 or delay_us > 1e6 then
        return nil, ("'%s': expected a time from 1us to 1s, such as 1ms"):format(text)
    end
    return delay_us
end

--- The roles of each host: a list of lists. <count>: hosts, or nil when <roles> (of parse_roles)
-- says it. Without roles: of three and more the first is load, the second front, the rest
-- application; with two the second is front and application; a single one as well. nil and a
-- reason when the two do not agree.
function lab_plan.share_out(count, roles)
    local list = {}
    if roles then
        for _, role in ipairs(lab_plan.ROLES) do
            for _ = 1, roles[role] or 0 do
                list[#list + 1] = { role }
            end
        end
        if count and count ~= #list then
            return nil, ("%d hosts, but the roles add up to %d"):format(count, #list)
        end
    elseif count then
        for number = 1, count do
            list[number] = count >= 3 and number == 2 and { "front" }
                or count >= 2 and number == 1 and { "load" }
                or count >= 3 and { "application" }
                or { "front", "application" }
        end
    end
    if #list < 1 or #list > lab_plan.MOST_HOSTS then
        return nil, ("%d hosts: expected 1 to %d"):format(#list, lab_plan.MOST_HOSTS)
    end
    return list
end

local function to_number(address)
    local a, b, c, d = address:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
    return a and ((a * 256 + b) * 256 + c) * 256 + d
end

--- The first network (its first three numbers, such as "10.213.0.") that none of <routes> touches,
-- a list of "ADDRESS/BITS"; nil when all are taken.
function lab_plan.free_network(routes)
    for third = 0, NETWORKS - 1 do
        local prefix = ("10.213.%d."):format(third)
        local free = true
        for _, route in ipairs(routes) do
            local address, bits = route:match("^([%d.]+)/?(%d*)$")
            bits = tonumber(bits) or 32
            local number = address and to_number(address)
            if number and bits >= NARROW then
                local size = 2 ^ (32 - math.min(bits, 24)) -- the wider of the two decides
                free = free and math.floor(number / size) ~= math.floor(to_number(prefix .. 0) / size)
            end
        end
        if free then
            return prefix
        end
    end
    return nil
end

--- The hosts of lab <name> with their <roles> (of share_out) in <network>, and this machine's
-- address in it. A host: name (its role and number), number, roles, address, namespace, folder
-- (below <folder>), work (what the playbooks may fill).
function lab_plan.hosts(name, roles, network, folder)
    local hosts, numbers = {}, {}
    for number, own in ipairs(roles) do
        local kind = #own > 1 and "server" or own[1]
        numbers[kind] = (numbers[kind] or 0) + 1
        local host = { name = kind .. numbers[kind], number = number, roles = own }
        host.address = network .. (FIRST_ADDRESS + number - 1)
        host.namespace = ("testbed-%s-%s"):format(name, host.name)
        host.folder = folder .. "/hosts/" .. host.name
        host.work = host.folder .. "/work"
        hosts[number] = host
    end
    return hosts, network .. GATE_ADDRESS
end

local function members_of(hosts, role)
    local members = {}
    for _, host in ipairs(hosts) do
        for _, own in ipairs(host.roles) do
            if own == role then
                members[#members + 1] = host
            end
        end
    end
    return members
end

--- The inventory (INI) of <hosts> whose keys lie in <folder>; <checkout>: the folder that this
-- command belongs to.
function lab_plan.inventory(name, hosts, folder, checkout)
    local lines = { ("# Hosts of the lab \"%s\"; scripts/lab down removes this file with them."):format(name) }
    local function add(format, ...)
        lines[#lines + 1] = format:format(...)
    end
    local described = {}
    for _, role in ipairs(lab_plan.ROLES) do
        local members = members_of(hosts, role)
        if #members > 0 then
            add("\n[%s]", role)
        end
        for _, host in ipairs(members) do
            if described[host] then
                add("%s", host.name)
            else
                described[host] = true
                add("%s ansible_host=%s testbed_address=%s testbed_folder=%s", host.name, host.address,
                    host.address, host.work)
            end
        end
    end
    add("\n[all:vars]")
    add("ansible_port=%d", PORT)
    add("ansible_user=root")
    add("ansible_ssh_private_key_file=%s/key", folder)
    add("ansible_ssh_common_args=-F none -o UserKnownHostsFile=%s/known_hosts -o GlobalKnownHostsFile=/dev/null"
        .. " -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o IdentityAgent=none -o ConnectTimeout=5", folder)
    add("ansible_control_path_dir=%s/control", folder)
    add("ansible_python_interpreter=/usr/bin/python3")
    add("# The hosts run this machine's system: its programs need not be compiled on each again.")
    add("testbed_programs=copy")
    add("testbed_programs_from=%s/build", checkout)
    return table.concat(lines, "\n") .. "\n"
end

return lab_plan
