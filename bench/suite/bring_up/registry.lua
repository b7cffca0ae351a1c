-- Stacks that live on without the command that brought them up: where each has its folder, and
-- whether it still runs. State lies in the temporary folder, one folder per user and stack:
-- TMPDIR/stacks-UID/NAME/ (or /tmp when TMPDIR is too long for a socket's path).

local cjson = require("cjson")
local posix_signal = require("posix.signal")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local assembly = require("bench.suite.bring_up.assembly")
local files = require("bench.suite.system.files")
local proc = require("bench.suite.system.proc")
local process = require("bench.suite.system.process")
local stack = require("bench.suite.bring_up.stack")

local STOP_TIMEOUT_S = 10

local registry = {}

--- The folder that holds all stacks of this user; made when it is not there. nil and a reason when
-- somebody else has taken its name.
function registry.base()
    local path = assembly.temporary_base() .. "/stacks-" .. unistd.getuid()
    -- Others may pass through it (Apache's children change their user) but not list it.
    stat.mkdir(path, 457) -- 0711
    local info = stat.lstat(path)
    if not info or stat.S_ISDIR(info.st_mode) == 0 or info.st_uid ~= unistd.getuid() then
        return nil, path .. " is not a folder of yours: remove it or set TMPDIR"
    end
    stat.chmod(path, 457)
    return path
end

local function folder_of(name)
    local base, reason = registry.base()
    local leaf = name:match("([^/]+)%.lua$") or name
    if leaf == "" or leaf == "." or leaf == ".." or leaf:find("/", 1, true) then
        return nil, "no name of a stack: " .. name
    end
    return base and base .. "/" .. leaf, reason
end

-- When a process began, in clock ticks since the system's start: with the pid it names a process
-- for good, the pid alone may be another's by now.
local function began(pid)
    local fields = proc.parse_stat(proc.read("/proc/" .. pid .. "/stat") or "")
    return fields and fields.state ~= "Z" and fields.start_ticks or nil
end

local function lives(mark)
    return mark ~= nil and began(mark.pid) == mark.began
end

local function mark(pid)
    return { pid = pid, began = began(pid) }
end

local function load(path)
    local text = files.read(path)
    local ok, value = pcall(cjson.decode, text or "")
    return ok and type(value) == "table" and value or nil
end

--- State of <name>: "up", "starting" (another command is at it), "broken" (it runs no longer as it
-- should) or "down"; and what was saved of it.
function registry.look(name)
    local folder = folder_of(name)
    if not folder or not files.kind(folder) then
        return "down"
    end
    local saved = load(folder .. "/state.json")
    if saved then
        return lives(saved.keeper) and "up" or "broken", saved
    end
    local starting = load(folder .. "/starting.json")
    return lives(starting) and "starting" or "broken", nil
end

local function signal_all(saved, number)
    local count = 0
    for _, list in pairs(saved.processes) do
        for _, one in ipairs(list) do
            if lives(one) then
                posix_signal.kill(one.pid, number)
                count = count + 1
            end
        end
    end
    return count
end

--- Takes <name> down; also what is left of one whose keeper was killed. True, or nil and a reason.
function registry.down(name)
    local state, saved = registry.look(name)
    local folder, reason = folder_of(name)
    if not folder then
        return nil, reason
    elseif state == "down" or state == "starting" then
        return nil, state == "down" and "is not up" or "is being brought up by another command"
    end
    local deadline = process.now() + STOP_TIMEOUT_S
    if state == "up" then
        posix_signal.kill(saved.keeper.pid, posix_signal.SIGTERM)
        while lives(saved.keeper) and process.now() < deadline do
            process.sleep(0.01)
        end
    end
    -- Its keeper ends all; without a keeper, those that were known go one by one.
    while saved and signal_all(saved, posix_signal.SIGKILL) > 0 and process.now() < deadline do
        process.sleep(0.01)
    end
    files.remove_tree(folder)
    return true
end

--- Brings <name> up so that it lives on. Returns what is saved of it, or nil and a reason.
function registry.up(name, options)
    local state, saved = registry.look(name)
    local folder, reason = folder_of(name)
    if not folder then
        return nil, reason
    elseif state == "broken" then
        registry.down(name)
    elseif state ~= "down" then
        return nil, saved and ("is up already: %s (scripts/stack down %s ends it)"):format(saved.url, name) or "is being brought up by another command"
    end
    if stat.mkdir(folder, 493) ~= 0 then
        return nil, "is being brought up by another command"
    end
    files.write(folder .. "/starting.json", cjson.encode(mark(unistd.getpid())))
    options.dir, options.detached = folder, true
    local s
    s, reason = stack.up(name, options)
    if not s then
        files.remove_tree(folder)
        return nil, reason
    end
    saved = stack.release(s)
    saved.keeper = mark(saved.keeper)
    saved.processes = {}
    for group, pids in pairs(saved.pids) do
        saved.processes[group] = {}
        for i, pid in ipairs(pids) do
            saved.processes[group][i] = mark(pid)
        end
    end
    saved.pids = nil
    files.write(folder .. "/state.json", cjson.encode(saved))
    unistd.unlink(folder .. "/starting.json")
    return saved
end

--- For the handler of a signal that ends registry.up: removes what it had begun.
function registry.abandon(name)
    stack.down_all(true)
    local folder = folder_of(name)
    if folder and registry.look(name) ~= "up" then
        files.remove_tree(folder)
    end
end

--- Names of the stacks that have a folder now, up or broken.
function registry.names()
    local base = registry.base()
    return base and files.list(base) or {}
end

--- How many processes each group has now: those that were there at the start, and what they have
-- forked since. A list of {name, running}.
function registry.counts(saved)
    local counts = {}
    for group, list in pairs(saved.processes) do
        local pids = {}
        for _, one in ipairs(list) do
            pids[#pids + 1] = lives(one) and one.pid or nil
        end
        -- The pids of the start include children: known roots are not counted again.
        local running = #pids + #process.descendants(pids)
        counts[#counts + 1] = { name = group, running = running }
    end
    table.sort(counts, function(a, b)
        return a.name < b.name
    end)
    return counts
end

return registry
