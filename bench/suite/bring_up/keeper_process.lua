-- The keeper's own process: starts the programs of one stack, adopts whatever they leave behind,
-- and ends every one of them when it is told to or when its caller is gone. The caller's side is
-- keeper.lua.

local bit = require("bit")
local ffi = require("ffi")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local poll = require("posix.poll")
local posix_signal = require("posix.signal")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")
local files = require("bench.suite.system.files")
local process = require("bench.suite.system.process")

ffi.cdef([[
typedef struct { unsigned long words[16]; } keeper_sigset;
int sigemptyset(keeper_sigset *set);
int sigaddset(keeper_sigset *set, int number);
int sigprocmask(int how, const keeper_sigset *set, keeper_sigset *old);
int signalfd(int fd, const keeper_sigset *set, int flags);
]])

local SIG_SETMASK = 2
local SFD_NONBLOCK, SFD_CLOEXEC = 0x800, 0x80000
local SIGNALFD_RECORD = 128 -- bytes; its first four are the number

-- What is sent after so many seconds, until nothing is left. First each program that was started
-- gets its own stop signal: servers that end their children do it in the right order. Then all
-- descendants get the one named here.
local LADDER = {
    { after_s = 0 },
    { after_s = 0.2, signal = posix_signal.SIGTERM },
    { after_s = 0.8, signal = posix_signal.SIGKILL },
}
-- The same in a hurry: nobody waits for a thousand children to take their leave.
local LADDER_AT_ONCE = { { after_s = 0, signal = posix_signal.SIGKILL } }
local LISTEN_TIMEOUT_S = 30
local AGAIN_S = 0.2 -- between two kills, when something forks while it is being ended

local function close_all_but(kept)
    for _, name in ipairs(files.list("/proc/self/fd")) do
        local fd = tonumber(name)
        if fd > 2 and not kept[fd] then
            unistd.close(fd)
        end
    end
end

local function mask(numbers)
    local set = ffi.new("keeper_sigset")
    ffi.C.sigemptyset(set)
    for _, number in ipairs(numbers) do
        ffi.C.sigaddset(set, number)
    end
    ffi.C.sigprocmask(SIG_SETMASK, set, nil)
    return set
end

local CAUGHT = { posix_signal.SIGTERM, posix_signal.SIGINT, posix_signal.SIGHUP, posix_signal.SIGCHLD }
local DEFAULTS = {
    posix_signal.SIGTERM, posix_signal.SIGINT, posix_signal.SIGHUP, posix_signal.SIGCHLD,
    posix_signal.SIGPIPE, posix_signal.SIGQUIT, posix_signal.SIGUSR1, posix_signal.SIGUSR2,
}

local function default_signals()
    for _, number in ipairs(DEFAULTS) do
        posix_signal.signal(number, posix_signal.SIG_DFL)
    end
end

-- In the child: becomes <program>. Never returns.
local function become(program, keeper_pid)
    unistd.setpid("p", 0, 0)
    process.die_with_parent()
    if unistd.getppid() ~= keeper_pid then
        unistd._exit(127)
    end
    posix_signal.signal(posix_signal.SIGPIPE, posix_signal.SIG_DFL)
    mask({})
    local null = fcntl.open("/dev/null", fcntl.O_RDONLY)
    local log = fcntl.open(program.log or "/dev/null", bit.bor(fcntl.O_WRONLY, fcntl.O_CREAT, fcntl.O_APPEND), 420)
    unistd.dup2(null, 0)
    unistd.dup2(log, 1)
    unistd.dup2(log, 2)
    close_all_but({})
    for name, value in pairs(program.env or {}) do
        stdlib.setenv(name, value or nil)
    end
    local _, reason
    if program.directory then
        _, reason = unistd.chdir(program.directory)
    end
    if not reason then
        local arguments = { unpack(program.argv, 2) }
        _, reason = unistd.execp(program.argv[1], arguments)
    end
    unistd.write(2, program.argv[1] .. ": cannot be started: " .. tostring(reason) .. "\n")
    unistd._exit(127)
end

local function spawn(program, keeper_pid)
    local pid, reason = unistd.fork()
    if pid == 0 then
        become(program, keeper_pid)
    elseif pid then
        unistd.setpid("p", pid, pid)
    end
    return pid, reason
end

local function exit_text(how, code)
    return how == "exited" and ("status " .. code) or ("signal " .. tostring(code))
end

local function signal_roots(programs)
    for i = #programs, 1, -1 do
        for _, root in ipairs(programs[i].roots or {}) do
            posix_signal.kill(root, programs[i].stop_signal or posix_signal.SIGTERM)
        end
    end
end

-- Parents come before their children, so that none starts another for one that is gone.
local function signal_descendants(number)
    for _, pid in ipairs(process.descendants(unistd.getpid())) do
        posix_signal.kill(pid, number)
        if number ~= posix_signal.SIGKILL then
            posix_signal.kill(pid, posix_signal.SIGCONT) -- a stopped one does not end
        end
    end
end

-- Ends all descendants, reaping until the kernel says that there are none.
local function end_all(programs, ladder)
    local begun, step, next_s = process.now(), 0, 0
    while true do
        local pid, _, code = wait.wait(-1, wait.WNOHANG)
        if not pid and code == errno.ECHILD then
            return
        end
        local passed = process.now() - begun
        if passed >= next_s then
            step = math.min(step + 1, #ladder)
            if ladder[step].signal then
                signal_descendants(ladder[step].signal)
            else
                signal_roots(programs)
            end
            -- The next look is due that long after this one has ended: it may take long itself.
            next_s = step < #ladder and ladder[step + 1].after_s or process.now() - begun + AGAIN_S
        end
        if not pid or pid == 0 then
            process.sleep(0.002)
        end
    end
end

-- Removes sockets and pid files of the run, and nothing that links lead to; with <remove> all.
local function clean(folder, remove)
    if remove then
        files.remove_tree(folder)
        return
    end
    for _, name in ipairs(files.list(folder)) do
        local path = folder .. "/" .. name
        local kind = files.kind(path)
        if kind == "folder" then
            clean(path)
        elseif kind == "other" or name:match("%.pid$") then
            unistd.unlink(path)
        end
    end
end

-- Waits at most <timeout_ms> (-1: without end) for something to happen. True when it is time to
-- end: somebody said so, or the caller is gone; self.ladder is how, which SIGINT and a lost caller
-- change. A byte from the caller lets go: from then on the keeper lives on without it.
local function told_to_end(self, timeout_ms)
    local watched = { [self.signals_fd] = { events = { IN = true } } }
    if self.life_fd then
        watched[self.life_fd] = { events = { IN = true } }
    end
    poll.poll(watched, timeout_ms)
    local life = self.life_fd and watched[self.life_fd].revents
    if life and (life.IN or life.HUP) then
        if unistd.read(self.life_fd, 1) == "" then
            self.ladder = LADDER_AT_ONCE
            return true
        end
        unistd.close(self.life_fd)
        self.life_fd = nil
    end
    local record = unistd.read(self.signals_fd, SIGNALFD_RECORD)
    local number = record and record:byte(1)
    if number == posix_signal.SIGINT then
        self.ladder = LADDER_AT_ONCE
    end
    return number ~= nil and number ~= posix_signal.SIGCHLD
end

-- A program that starts others and ends, as spawn-fcgi does; what it started is in its pid file.
local function finish_starter(self, program, pid)
    local done, how, code
    repeat
        done, how, code = wait.wait(pid, wait.WNOHANG)
        if done == 0 and told_to_end(self, 10) then
            return nil, "interrupted"
        end
    until done ~= 0
    if how ~= "exited" or code ~= 0 then
        return nil, exit_text(how, code)
    end
    local roots = {}
    for number in (files.read(program.pid_file) or ""):gmatch("%d+") do
        roots[#roots + 1] = tonumber(number)
    end
    if #roots == 0 then
        return nil, "it left no pid in " .. program.pid_file
    end
    return roots
end

-- Whether somebody listens at <address>: a unix path, or a TCP port. Looked up, not tried: a
-- connection would be the program's first request.
local function listens(pid, address)
    -- The program's own network, which may be another than ours; it may have ended by now.
    local net = files.kind("/proc/" .. pid .. "/net/tcp") and "/proc/" .. pid .. "/net/" or "/proc/net/"
    if type(address) == "number" then
        local pattern = (":%04X 00000000:0000 0A "):format(address)
        return (files.read(net .. "tcp") or ""):find(pattern, 1, true) ~= nil
    end
    for line in (files.read(net .. "unix") or ""):gmatch("[^\n]+") do
        -- Num RefCount Protocol Flags Type St Inode Path; the flag is __SO_ACCEPTCON.
        local flags, path = line:match("^%S+ %S+ %S+ (%S+) %S+ %S+ +%d+ (.*)$")
        if path == address and flags == "00010000" then
            return true
        end
    end
    return false
end

-- Until <program> listens: what comes after it would only log that it does not yet.
local function await(self, program, pid)
    local deadline = process.now() + LISTEN_TIMEOUT_S
    while program.listens and not listens(pid, program.listens) do
        local done, how, code = wait.wait(pid, wait.WNOHANG)
        if done == pid then
            return nil, exit_text(how, code)
        elseif process.now() > deadline then
            return nil, ("does not listen at %s after %d s"):format(program.listens, LISTEN_TIMEOUT_S)
        elseif told_to_end(self, 2) then
            return nil, "interrupted"
        end
    end
    return true
end

local function start_one(self, program)
    local pid, reason = spawn(program, unistd.getpid())
    if not pid then
        return nil, reason
    end
    program.roots = { pid }
    if program.pid_file then
        program.roots, reason = finish_starter(self, program, pid)
        if not program.roots then
            return nil, reason
        end
    end
    return await(self, program, pid)
end

local function start_programs(self, programs)
    for _, program in ipairs(programs) do
        local ok, reason = start_one(self, program)
        if not ok then
            self.tell("fail %s %s", program.name, reason)
            return false
        end
        self.tell("pid %s %s", program.name, table.concat(program.roots, " "))
    end
    self.tell("started")
    return true
end

local function name_of(programs, pid)
    for _, program in ipairs(programs) do
        for _, root in ipairs(program.roots or {}) do
            if root == pid then
                return program.name
            end
        end
    end
end

-- Takes note of programs that ended by themselves.
local function reap(programs, tell)
    while true do
        local pid, how, code = wait.wait(-1, wait.WNOHANG)
        if not pid or pid == 0 then
            return
        end
        local name = name_of(programs, pid)
        if name then
            tell("exit %s %s", name, exit_text(how, code))
        end
    end
end

local keeper_process = {}

local function live(plan, status_fd, life_fd)
    if plan.detached then
        unistd.setpid("s")
        local null = fcntl.open("/dev/null", fcntl.O_RDWR)
        for fd = 0, 2 do
            unistd.dup2(null, fd)
        end
    else
        unistd.setpid("p", 0, 0)
    end
    default_signals()
    posix_signal.signal(posix_signal.SIGPIPE, posix_signal.SIG_IGN)
    local signals_fd = ffi.C.signalfd(-1, mask(CAUGHT), bit.bor(SFD_NONBLOCK, SFD_CLOEXEC))
    close_all_but({ [status_fd] = true, [life_fd] = true, [signals_fd] = true })
    process.adopt_orphans()
    local self = { signals_fd = signals_fd, life_fd = life_fd, ladder = LADDER }
    function self.tell(format, ...)
        unistd.write(status_fd, string.format(format, ...) .. "\n")
    end
    if start_programs(self, plan.programs) then
        repeat
            local over = told_to_end(self, -1)
            reap(plan.programs, self.tell)
        until over
    end
    end_all(plan.programs, self.ladder)
    clean(plan.folder, plan.remove)
end

--- The whole life of the keeper, in a forked process, which it ends. <plan>: see keeper.start;
-- <status_fd>: where it tells what happens, in lines; <life_fd>: ends with the caller.
function keeper_process.run(plan, status_fd, life_fd)
    local ok, failure = pcall(live, plan, status_fd, life_fd)
    if not ok then
        unistd.write(status_fd, "fail keeper " .. tostring(failure) .. "\n")
        pcall(end_all, plan.programs, LADDER)
        pcall(clean, plan.folder, plan.remove)
    end
    unistd._exit(ok and 0 or 1)
end

return keeper_process
