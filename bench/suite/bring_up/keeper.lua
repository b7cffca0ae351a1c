-- Keeps the programs of one stack: a process of its own (keeper_process.lua) that starts them,
-- adopts whatever they leave behind (a daemon that forks twice cannot escape it), and ends every
-- one of them when it is told to, or when its caller is gone, however the caller went.

local fcntl = require("posix.fcntl")
local poll = require("posix.poll")
local posix_signal = require("posix.signal")
local unistd = require("posix.unistd")
local keeper_process = require("bench.suite.bring_up.keeper_process")
local process = require("bench.suite.system.process")

local keeper = {}

--- Starts a keeper for plan.programs, in order. plan.folder: where sockets and pid files lie;
-- plan.remove: remove it at the end; plan.detached: in a session of its own, to be released.
-- A program: {name, argv (argv[1] a path), env (false unsets), directory, log, stop_signal,
-- pid_file (it starts others and ends; their pids are there), listens (the next program waits for
-- this unix path or port)}. Returns {pid, status_fd, life_fd, roots, exits}.
function keeper.start(plan)
    local status_read, status_write = process.pipe()
    local life_read, life_write = process.pipe()
    fcntl.fcntl(status_read, fcntl.F_SETFL, fcntl.O_NONBLOCK)
    io.stdout:flush()
    io.stderr:flush()
    local pid, reason = unistd.fork()
    if pid == 0 then
        keeper_process.run(plan, status_write, life_read)
    end
    unistd.close(status_write)
    unistd.close(life_read)
    if not pid then
        unistd.close(status_read)
        unistd.close(life_write)
        return nil, "fork: " .. tostring(reason)
    end
    return { pid = pid, status_fd = status_read, life_fd = life_write, text = "", roots = {}, exits = {} }
end

local function note(handle, line)
    local word, name, rest = line:match("^(%S+) ?(%S*) ?(.*)$")
    if word == "pid" then
        handle.roots[name] = {}
        for number in rest:gmatch("%d+") do
            table.insert(handle.roots[name], tonumber(number))
        end
    elseif word == "started" then
        handle.started = true
    elseif word == "exit" or word == "fail" then
        table.insert(handle.exits, { name = name, reason = rest })
    end
end

--- Takes in what the keeper has said, waiting at most <timeout_ms> for something. Updates
-- handle.roots (name -> pids), handle.started, handle.exits ({name, reason} in order).
function keeper.listen(handle, timeout_ms)
    if handle.status_fd then
        poll.rpoll(handle.status_fd, timeout_ms or 0)
        local data = unistd.read(handle.status_fd, 4096)
        if data == "" then
            unistd.close(handle.status_fd)
            handle.status_fd = nil
        end
        handle.text = handle.text .. (data or "")
        handle.text = handle.text:gsub("([^\n]*)\n", function(line)
            note(handle, line)
            return ""
        end)
    end
end

local function forget(handle)
    for _, name in ipairs({ "status_fd", "life_fd" }) do
        if handle[name] then
            unistd.close(handle[name])
            handle[name] = nil
        end
    end
end

--- Lets the keeper kill everything at once; keeper.stop() then waits for it.
function keeper.hurry(handle)
    posix_signal.kill(handle.pid, posix_signal.SIGINT)
end

--- Ends everything and waits until the keeper has gone, which takes it about a second at most.
function keeper.stop(handle)
    posix_signal.kill(handle.pid, posix_signal.SIGTERM)
    process.reap(handle.pid)
    forget(handle)
end

--- Lets go of the keeper: it lives on when this process ends, until SIGTERM.
function keeper.release(handle)
    unistd.write(handle.life_fd, "r")
    forget(handle)
end

return keeper
