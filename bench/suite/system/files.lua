-- Files and folders without a shell, so that every path works as it is.

local dirent = require("posix.dirent")
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")

local files = {}

--- Content of <path>, or nil and a reason that names it. <limit>: bytes at most, from the start.
function files.read(path, limit)
    local file, reason = io.open(path, "rb")
    if not file then
        return nil, reason
    end
    local data = file:read(limit or "*a")
    file:close()
    return data or ""
end

--- Writes <data> whole: into a new file that then takes the place of <path>, so that a reader
-- never sees half. True, or nil and a reason.
function files.write(path, data)
    local fresh = path .. ".new"
    local file, reason = io.open(fresh, "wb")
    if not file then
        return nil, reason
    end
    local ok, why = file:write(data)
    ok = file:close() and ok
    if not ok then
        return nil, path .. ": " .. tostring(why or "cannot be written")
    end
    return os.rename(fresh, path)
end

--- "file", "folder", "link" or "other"; nil when there is nothing.
function files.kind(path)
    local info = stat.lstat(path)
    if not info then
        return nil
    end
    return stat.S_ISREG(info.st_mode) ~= 0 and "file"
        or stat.S_ISDIR(info.st_mode) ~= 0 and "folder"
        or stat.S_ISLNK(info.st_mode) ~= 0 and "link"
        or "other"
end

--- Makes <path> and the folders above it. True, or nil and a reason.
function files.make_folder(path)
    if files.kind(path) == "folder" or (files.kind(path) == "link" and unistd.access(path .. "/.")) then
        return true
    end
    local above = path:match("^(.+)/[^/]+/*$")
    if above then
        local ok, reason = files.make_folder(above)
        if not ok then
            return nil, reason
        end
    end
    local ok, reason = stat.mkdir(path, 448 + 56 + 7) -- 0777, cut by the umask
    if not ok and files.kind(path) ~= "folder" then
        return nil, reason
    end
    return true
end

--- Names in the folder <path>, sorted, without "." and ".."; an empty list when it cannot be read.
function files.list(path)
    local names = {}
    local ok, iterator, state = pcall(dirent.files, path)
    if not ok then
        return names
    end
    for name in iterator, state do
        if name ~= "." and name ~= ".." then
            names[#names + 1] = name
        end
    end
    table.sort(names)
    return names
end

--- Removes <path> and, for a folder, all that is in it; follows no links.
function files.remove_tree(path)
    if files.kind(path) == "folder" then
        for _, name in ipairs(files.list(path)) do
            files.remove_tree(path .. "/" .. name)
        end
        unistd.rmdir(path)
    else
        unistd.unlink(path)
    end
end

-- A longer TMPDIR leaves no room for the names of unix sockets (107 bytes in all).
local LONGEST_BASE = 60

--- A fresh private folder under TMPDIR, or under /tmp when that is not set or too long for sockets.
function files.temporary_folder(prefix)
    local base = os.getenv("TMPDIR") or "/tmp"
    base = #base <= LONGEST_BASE and base or "/tmp"
    return stdlib.mkdtemp(base .. "/" .. prefix .. "XXXXXX")
end

--- Makes <link> point to <target>, replacing an older link in one step. Anything else that stands
-- there is left alone and reported.
function files.point(link, target)
    local kind = files.kind(link)
    if kind and kind ~= "link" then
        return nil, link .. " is not a link: left alone"
    end
    local fresh = link .. ".new"
    unistd.unlink(fresh)
    local ok, reason = unistd.link(target, fresh, true)
    if not ok then
        return nil, reason
    end
    return os.rename(fresh, link)
end

--- <path> made absolute; relative ones count from the current folder.
function files.absolute(path)
    return path:sub(1, 1) == "/" and path or unistd.getcwd() .. "/" .. path
end

return files
