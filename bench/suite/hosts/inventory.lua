-- SPDX-License-Identifier: MIT
--
-- The hosts of an Ansible inventory, as `ansible-inventory --list` tells them. Groups: load, front,
-- application; a host may stand in several, and a group that is missing or empty is this machine.
--
-- A host is a table:
--   name        its name in the inventory
--   roles       set of its groups: {load = true}
--   ssh         what ssh needs: {address, port, user, key, options}; address alone is always there,
--               options are words for ssh's command line
--   address     where programs on it listen: testbed_address, else ansible_host, else the name
--   folder      all that lies on it: testbed_folder, default backend-testbed in the user's home. A
--               relative path counts from there, which is where ssh starts commands
--   checkout    folder .. "/checkout", which bench/hosts/prepare.yml fills
--   ports       {first, last} that programs on it may listen at: testbed_ports ("20080-20179")

local cjson = require("cjson")
local socket = require("posix.sys.socket")
local files = require("bench.suite.system.files")
local process = require("bench.suite.system.process")
local words = require("bench.suite.hosts.words")

local ROLES = { "load", "front", "application" }
local DEFAULT_FOLDER = "backend-testbed"
local DEFAULT_PORTS = "20080-20179"
local FORBIDDEN = { "ansible_password", "ansible_ssh_pass", "ansible_ssh_password" }

local inventory = {}

inventory.ROLES = ROLES

-- Names of the hosts of <group> and of the groups below it, in the inventory's order.
local function members(groups, group, list, seen)
    local entry = groups[group]
    if type(entry) ~= "table" or seen[group] then
        return list
    end
    seen[group] = true
    for _, name in ipairs(entry.hosts or {}) do
        if not seen["host " .. name] then
            seen["host " .. name] = true
            list[#list + 1] = name
        end
    end
    for _, child in ipairs(entry.children or {}) do
        members(groups, child, list, seen)
    end
    return list
end

local function fail(host, format, ...)
    error(host .. ": " .. format:format(...), 0)
end

local function option_words(name, variables)
    local list = {}
    for _, key in ipairs({ "ansible_ssh_common_args", "ansible_ssh_extra_args" }) do
        local split, reason = words.split(variables[key] or "")
        if not split then
            fail(name, "%s: %s", key, reason)
        end
        for _, word in ipairs(split) do
            list[#list + 1] = word
        end
    end
    return list
end

local function check(name, variables)
    for key, value in pairs(variables) do
        if (key:match("^ansible_") or key:match("^testbed_")) and type(value) == "string" and value:find("{{", 1, true) then
            fail(name, "%s is a template; give a plain value", key)
        end
    end
    for _, key in ipairs(FORBIDDEN) do
        if variables[key] then
            fail(name, "%s: passwords are not used; set ansible_ssh_private_key_file", key)
        end
    end
    if variables.ansible_connection == "local" then
        fail(name, "ansible_connection=local: leave the host out; a group without hosts is this machine")
    end
end

local function ports_of(name, text)
    local first, last = tostring(text):match("^(%d+)%-(%d+)$")
    first, last = tonumber(first), tonumber(last)
    if not first or first < 1 or last > 65535 or last < first then
        fail(name, "testbed_ports: '%s': expected FIRST-LAST, such as %s", text, DEFAULT_PORTS)
    end
    return { first = first, last = last }
end

local function describe(name, variables)
    check(name, variables)
    local port = variables.ansible_port or variables.ansible_ssh_port
    local folder = variables.testbed_folder or DEFAULT_FOLDER
    if folder == "" or folder == "/" or folder == "." or folder:find("..", 1, true) then
        fail(name, "testbed_folder: '%s': expected a folder of its own, which clean.yml removes", folder)
    end
    local reached = variables.ansible_host or variables.ansible_ssh_host or name
    if port and not tonumber(port) then
        fail(name, "ansible_port: '%s': expected a number", port)
    end
    return {
        name = name,
        roles = {},
        ssh = {
            address = reached,
            port = tonumber(port),
            user = variables.ansible_user or variables.ansible_ssh_user,
            key = variables.ansible_ssh_private_key_file or variables.ansible_private_key_file,
            options = option_words(name, variables),
        },
        address = variables.testbed_address or reached,
        folder = folder,
        checkout = folder .. "/checkout",
        ports = ports_of(name, variables.testbed_ports or DEFAULT_PORTS),
    }
end

local function parse(text)
    local ok, groups = pcall(cjson.decode, text)
    if not ok or type(groups) ~= "table" then
        error("ansible-inventory printed no JSON", 0)
    end
    local variables = groups._meta and groups._meta.hostvars or {}
    local result, known = { hosts = {} }, {}
    for _, role in ipairs(ROLES) do
        result[role] = {}
        for _, name in ipairs(members(groups, role, {}, {})) do
            local host = known[name] or describe(name, variables[name] or {})
            if not known[name] then
                known[name] = host
                result.hosts[#result.hosts + 1] = host
            end
            host.roles[role] = true
            table.insert(result[role], host)
        end
    end
    if #result.hosts == 0 then
        error("no host in the groups load, front, application", 0)
    end
    return result
end

--- The output <text> of `ansible-inventory --list`: {hosts, load, front, application}, lists of hosts
-- in the inventory's order; a host in several groups is one table. nil and a reason.
function inventory.parse(text)
    local ok, result = pcall(parse, text)
    if ok then
        return result
    end
    return nil, result
end

-- Programs listen at an address, not at a name.
local function resolve(host)
    if host.address:match("^[%d.]+$") or host.address:find(":", 1, true) then
        return nil
    end
    local found = socket.getaddrinfo(host.address, nil, { socktype = socket.SOCK_STREAM })
    if not found or not found[1] then
        return ("%s: '%s' cannot be resolved; set testbed_address to the address that programs on it listen at"):format(
            host.name, host.address)
    end
    host.address = found[1].addr
end

--- Reads the inventory at <path>, by Ansible. Returns what inventory.parse does.
function inventory.read(path)
    if not files.kind(path) then
        return nil, ("%s: no such file; expected an Ansible inventory"):format(path)
    end
    local result = process.run({ "ansible-inventory", "-i", path, "--list" }, {
        timeout_s = 60, env = { ANSIBLE_NOCOLOR = "1", ANSIBLE_INVENTORY_UNPARSED_FAILED = "1", LC_ALL = "C.UTF-8" },
    })
    if result.code == 127 then
        return nil, "ansible-inventory is not installed (package ansible-core); run: scripts/setup hosts"
    elseif result.code ~= 0 then
        return nil, ("%s: %s"):format(path, (result.err:gsub("%s+$", "")))
    end
    local parsed, reason = inventory.parse(result.out)
    if not parsed then
        return nil, path .. ": " .. reason
    end
    for _, host in ipairs(parsed.hosts) do
        reason = resolve(host)
        if reason then
            return nil, path .. ": " .. reason
        end
    end
    return parsed
end

return inventory
