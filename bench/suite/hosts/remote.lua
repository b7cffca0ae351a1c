-- SPDX-License-Identifier: MIT
--
-- Processes on hosts that end when their connection ends, whatever ended it. The host's side is
-- remote-run, which comes with the checkout: it ends the program when its standard input ends, and
-- when no line has come for LAPSE_S seconds, as when the network is cut and nobody says so. The
-- lines are written by a small process of ours that dies with us.

local poll = require("posix.poll")
local unistd = require("posix.unistd")
local process = require("bench.suite.system.process")
local pulse = require("bench.suite.hosts.pulse")
local ssh = require("bench.suite.hosts.ssh")

local LAPSE_S = 6
local START_S = 20
local RUNNER = "/bench/suite/hosts/remote-run"

local remote = {}
local Remote = {}
Remote.__index = Remote

--- Seconds after which a program on a host that hears nothing from us is ended.
remote.LAPSE_S = LAPSE_S

--- The command on the host that runs <argv> under remote-run. options: directory, env (added
-- variables), grace_s (between TERM and KILL, default 1).
function remote.command(host, argv, options)
    options = options or {}
    local command = { host.checkout .. RUNNER, "--lapse", tostring(LAPSE_S), "--grace", tostring(options.grace_s or 1) }
    if options.directory then
        command[#command + 1] = "--directory"
        command[#command + 1] = options.directory
    end
    command[#command + 1] = "--"
    local names = {}
    for name in pairs(options.env or {}) do
        names[#names + 1] = name
    end
    table.sort(names)
    if #names > 0 then
        command[#command + 1] = "env"
    end
    for _, name in ipairs(names) do
        command[#command + 1] = name .. "=" .. options.env[name]
    end
    for _, word in ipairs(argv) do
        command[#command + 1] = word
    end
    return command
end

local PID_LINE = "remote%-run: pid (%d+)\n$"

-- Standard error begins with a line of remote-run's, written before the program is there; a login
-- shell may have said something before that.
local function read_pid(self)
    local text, deadline = "", process.now() + START_S
    while not text:find(PID_LINE) and process.now() < deadline do
        if poll.rpoll(self.errors, 100) == 1 then
            -- One byte at a time: what follows the line is the program's.
            local byte = unistd.read(self.errors, 1)
            if byte == "" then
                break
            end
            text = text .. (byte or "")
        end
    end
    return tonumber(text:match(PID_LINE)), text
end

--- Starts <argv> over <session> (of ssh.open), with nothing on standard input. options: see
-- remote.command. Returns a process for process.gather and remote.gather: {pid (of ssh here), output,
-- errors, host_pid (of the program, there)}, with the methods signal, stop and close; nil and a reason.
function remote.start(session, argv, options)
    local master, reason = session:take()
    if not master then
        return nil, reason
    end
    local beat
    beat, reason = pulse.start()
    if not beat then
        session:release(master)
        return nil, reason
    end
    local self
    self, reason = process.start(session:command(master, remote.command(session.host, argv, options)), { input = beat.read_end })
    pulse.connected(beat)
    if not self then
        pulse.stop(beat)
        session:release(master)
        return nil, reason
    end
    setmetatable(self, Remote)
    self.session, self.master, self.beat = session, master, beat
    local pid, text = read_pid(self)
    if pid then
        self.host_pid = pid
        return self
    end
    local result = self:stop(0)
    return nil, ("%s: %s cannot be started: %s"):format(session.host.name, argv[1],
        ((text .. result.err):gsub("%s+$", "")))
end

--- Sends the program the signal <name> ("INT"); its whole process group on the host gets it.
function Remote:signal(name)
    pulse.say(self.beat, name)
end

--- Lets go of the program: it gets TERM, after grace_s KILL, and with it all that it has started.
-- Nothing is waited for.
function Remote:close()
    if self.beat then
        pulse.stop(self.beat)
        self.beat = nil
        self.session:release(self.master)
    end
end

--- Ends the program and waits for it, at most <timeout_s> (default 10). A result of remote.gather.
function Remote:stop(timeout_s)
    self:close()
    return remote.gather({ self }, { timeout_s = timeout_s or 10 })[1]
end

--- process.gather for programs on hosts and on this machine alike; afterwards each is closed. A
-- result has lost = true when the connection had ended: what the program did is then not known.
function remote.gather(children, options)
    local ok, results = pcall(process.gather, children, options)
    for index, child in ipairs(children) do
        if child.beat then
            child:close()
        end
        if ok and child.session then
            results[index].lost = results[index].code == ssh.LOST
        end
    end
    if not ok then
        error(results, 0)
    end
    return results
end

--- Runs <argv> over <session> to its end. options: those of remote.start and process.gather. Its
-- result; code 255 and lost = true when it could not be started or the connection ended.
function remote.run(session, argv, options)
    local self, reason = remote.start(session, argv, options)
    if not self then
        return { code = ssh.LOST, out = "", err = reason, elapsed_s = 0, timed_out = false, lost = true }
    end
    return remote.gather({ self }, options)[1]
end

return remote
