-- Where the system has a program or a file whose name or place differs between releases.

local unistd = require("posix.unistd")
local files = require("bench.suite.system.files")

local which = {}

-- Servers are not on the path of an ordinary Debian user.
local SERVERS = ":/usr/local/sbin:/usr/sbin:/sbin"

-- "8.10" comes after "8.4".
local function by_version(a, b)
    local function key(path)
        return (path:gsub("%d+", function(digits)
            return ("%08d"):format(digits)
        end))
    end
    return key(a) < key(b)
end

--- The file <pattern>, whose name may have "*" in it for any text; of several the one of the highest
-- version. nil: none.
function which.file(pattern)
    if not pattern:find("*", 1, true) then
        return files.kind(pattern) and pattern
    end
    local folder, name = pattern:match("^(.*)/([^/]*)$")
    local wanted = "^" .. name:gsub("[^%w*]", "%%%0"):gsub("%*", ".*") .. "$"
    local found = {}
    for _, entry in ipairs(files.list(folder)) do
        found[#found + 1] = entry:match(wanted)
    end
    table.sort(found, by_version)
    return found[1] and folder .. "/" .. found[#found]
end

--- Path of the program <name>, which may be a pattern such as "php-fpm*.*": searched for on PATH
-- and in the folders of servers. nil: none.
function which.program(name)
    for folder in ((os.getenv("PATH") or "") .. SERVERS):gmatch("[^:]+") do
        local path = which.file(folder .. "/" .. name)
        local kind = path and files.kind(path)
        if kind and kind ~= "folder" and unistd.access(path, "x") then
            return path
        end
    end
end

return which
