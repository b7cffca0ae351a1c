-- SPDX-License-Identifier: MIT
--
-- The options of stacks: what values they take, and which of them a stack has a use for. What a
-- stack would ignore is refused before anything starts: who asks for it expects it to count.

local unistd = require("posix.unistd")

local stack_options = {}

local function number(low, high)
    return function(value)
        return type(value) == "number" and value >= low and value <= high and value % 1 == 0
    end, ("a whole number from %d to %d"):format(low, high)
end

local function flag(value)
    return type(value) == "boolean"
end

local function kind(check, wanted)
    return { check = check, wanted = wanted }
end

-- Options that descriptions name in `takes`; a description of the user's own may have others.
local KINDS = {
    children = kind(function(value)
        return value == "cpus" or number(0, 16384)(value) -- 0: fcgi-server without a master
    end, "a whole number from 0 to 16384, or cpus"),
    backlog = kind(number(1, 65535)),
    front_backlog = kind(number(1, 65535)),
    keepalive = kind(number(0, 65535)),
    workers = kind(number(1, 512)),
    max_requests = kind(number(1, 1000000000)),
    engine = kind(function(value)
        return value == "event" or value == "libfcgi"
    end, "event or libfcgi"),
    config = kind(function(value)
        return type(value) == "string" and unistd.access(value, "r") ~= nil
    end, "the path of a configuration of fcgi-server that can be read"),
    tcp = kind(flag, "true or false"),
    gzip = kind(flag, "true or false"),
    access_log = kind(flag, "true or false"),
    opcache = kind(flag, "true or false"),
    kept_sockets = kind(flag, "true or false"),
    -- Of every stack:
    port = kind(number(1, 65535)),
    variant = kind(function(value)
        return value == "documented" or value == "tuned"
    end, "documented or tuned"),
}

-- Not a stack's, but of stack.up() itself.
local GENERAL = { port = true, variant = true, dir = true, detached = true, page = true, timeout_s = true, ready = true }

--- Names of the options that <description> has a use for: its `takes`, or what its variants set
-- when it has none. Sorted.
function stack_options.taken(description)
    local names, seen = {}, {}
    local function add(name)
        if not seen[name] then
            seen[name], names[#names + 1] = true, name
        end
    end
    for _, name in ipairs(description.takes or {}) do
        add(name)
    end
    for _, variant in pairs(not description.takes and description.variants or {}) do
        for name in pairs(variant.options or {}) do
            add(name)
        end
    end
    table.sort(names)
    return names
end

--- Has <description> a use for the option <name>?
function stack_options.takes(description, name)
    for _, known in ipairs(stack_options.taken(description)) do
        if known == name then
            return true
        end
    end
    return false
end

--- Why <options> are none for <description>, naming those it takes; nil when they are fine.
function stack_options.refused(description, options)
    local names = {}
    for name in pairs(options) do
        names[#names + 1] = tostring(name)
    end
    table.sort(names)
    for _, name in ipairs(names) do
        local known = KINDS[name]
        if not GENERAL[name] and not stack_options.takes(description, name) then
            local taken = stack_options.taken(description)
            return ("%s: no option %s; it takes %s"):format(description.name, name,
                #taken > 0 and table.concat(taken, ", ") or "none")
        elseif known and not known.check(options[name]) then
            return ("%s: %s is no good: expected %s"):format(name, tostring(options[name]), known.wanted)
        end
    end
end

return stack_options
