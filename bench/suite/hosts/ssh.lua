-- SPDX-License-Identifier: MIT
--
-- Connections to hosts: OpenSSH, kept open for the length of a run (ControlMaster), through which
-- commands run and files are copied. A host whose key is not known is refused; nothing is asked.
--
-- Processes that shall end with the connection are remote.lua's; here are short commands.

local posix_signal = require("posix.signal")
local files = require("bench.suite.system.files")
local process = require("bench.suite.system.process")
local words = require("bench.suite.hosts.words")

local CONNECT_S = 15
-- A host that does not answer for this long is lost; ssh then ends with LOST.
local ALIVE_S, ALIVE_COUNT = 2, 3
-- sshd takes ten sessions over one connection (MaxSessions); two are left for short commands.
local SESSIONS = 8
local LOST = 255

local ssh = {}
local open = {} -- sessions that this process opened
local Session = {}
Session.__index = Session

--- The exit code of ssh when the connection cannot be made or ends (ssh(1)).
ssh.LOST = LOST

-- Ours come first: of two values ssh takes the first, so that an inventory cannot switch off the
-- check of known hosts.
local OURS = {
    "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "LogLevel=ERROR",
    "-o", "ConnectTimeout=" .. CONNECT_S, "-o", "ServerAliveInterval=" .. ALIVE_S,
    "-o", "ServerAliveCountMax=" .. ALIVE_COUNT, "-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes",
    "-o", "ControlMaster=yes", "-o", "ControlPersist=no",
}

local function append(list, more)
    for _, word in ipairs(more) do
        list[#list + 1] = word
    end
    return list
end

--- The command that opens a kept connection to <host> (of inventory.lua) with its socket at <path>.
function ssh.master_command(host, path)
    local argv = append({ "ssh", "-N", "-T", "-S", path }, OURS)
    local target = host.ssh
    if target.port then
        append(argv, { "-p", tostring(target.port) })
    end
    if target.user then
        append(argv, { "-l", target.user })
    end
    if target.key then
        append(argv, { "-i", target.key, "-o", "IdentitiesOnly=yes" })
    end
    append(argv, target.options)
    return append(argv, { "--", target.address })
end

-- Words for ssh or scp that use the connection at <path>, and never make one of their own.
local function through(path)
    return {
        "-F", "none", "-o", "ControlPath=" .. path, "-o", "ControlMaster=no", "-o", "ProxyCommand=/bin/false",
        "-o", "BatchMode=yes", "-o", "LogLevel=ERROR",
    }
end

-- The last line that ssh said, which is why.
local function last_line(text)
    return text:gsub("%s+$", ""):match("[^\r\n]*$")
end

local function give_up(self, master)
    process.kill_group(master.pid, posix_signal.SIGKILL)
    local result = process.gather({ master }, { timeout_s = 2 })[1]
    local why = last_line(result.err)
    return nil, ("%s: cannot be reached by ssh: %s"):format(self.host.name,
        why ~= "" and why or ("no answer in %d s"):format(CONNECT_S))
end

-- One more connection. Its socket appears when the host has let us in.
local function connect(self)
    local path = ("%s/%d"):format(self.folder, #self.masters + 1)
    local master, reason = process.start(ssh.master_command(self.host, path))
    if not master then
        return nil, reason
    end
    local deadline = process.now() + CONNECT_S + 1
    while not files.kind(path) do
        local code = process.reap(master.pid, false)
        if code or process.now() > deadline then
            return give_up(self, master)
        end
        process.sleep(0.005)
    end
    master.path, master.sessions = path, 0
    table.insert(self.masters, master)
    return master
end

--- Opens a connection to <host> (of inventory.lua). A session, or nil and a reason that names the
-- host. close() ends it; it ends with this process as well, however that ends.
function ssh.open(host)
    local folder, reason = files.temporary_folder("ssh")
    if not folder then
        return nil, reason
    end
    local self = setmetatable({ host = host, folder = folder, masters = {} }, Session)
    local master
    master, reason = connect(self)
    if not master then
        files.remove_tree(folder)
        return nil, reason
    end
    open[self] = true
    return self
end

--- Closes all sessions of this process.
function ssh.close_all()
    for self in pairs(open) do
        self:close()
    end
end

--- Takes one of the connection's sessions, opening another connection when all are in use. Returns
-- the connection, for release(), or nil and a reason.
function Session:take()
    for _, master in ipairs(self.masters) do
        if master.sessions < SESSIONS then
            master.sessions = master.sessions + 1
            return master
        end
    end
    local master, reason = connect(self)
    if master then
        master.sessions = 1
    end
    return master, reason
end

--- Gives back what take() returned.
function Session:release(master) -- luacheck: ignore 212
    master.sessions = master.sessions - 1
end

--- The local command that runs <argv> on the host over <master> (of take()). Words reach the program
-- as they are; it is started in the user's home.
function Session:command(master, argv)
    local command = append({ "ssh", "-T" }, through(master.path))
    return append(command, { "--", self.host.name, words.quote(argv) })
end

--- Runs <argv> on the host to its end, with nothing on standard input. options: those of
-- process.run. Its result, with lost = true when the connection had ended. For commands that are
-- over soon: one that runs on when the connection breaks is remote.lua's business.
function Session:run(argv, options)
    local result = process.run(self:command(self.masters[1], argv), options)
    result.lost = result.code == LOST
    if result.lost then
        result.err = ("%s: the ssh connection is lost: %s"):format(self.host.name, last_line(result.err))
    end
    return result
end

local function copy(self, from, to)
    local argv = append({ "scp", "-q", "-p", "-r" }, through(self.masters[1].path))
    local result = process.run(append(argv, { "--", from, to }), { timeout_s = 600 })
    if result.code ~= 0 then
        return nil, ("%s: not copied: %s"):format(self.host.name, last_line(result.err))
    end
    return true
end

-- scp tells a host by the first ":" without "/" before it.
local function here(path)
    return path:match("^/") and path or "./" .. path
end

--- Copies the file or folder <from> of this machine to <to> on the host. True, or nil and a reason.
function Session:send(from, to)
    return copy(self, here(from), self.host.name .. ":" .. to)
end

--- Copies the file or folder <from> of the host to <to> here. True, or nil and a reason.
function Session:fetch(from, to)
    -- Names on the host are patterns to scp.
    return copy(self, self.host.name .. ":" .. from:gsub("[%*%?%[%]\\]", "\\%0"), here(to))
end

--- Whether the connection stands, as far as ssh knows: up to ALIVE_S * ALIVE_COUNT seconds behind.
function Session:alive()
    for _, master in ipairs(self.masters) do
        if not files.kind(master.path) then
            return false
        end
    end
    return #self.masters > 0
end

--- Ends the connection, and with it what runs through it.
function Session:close()
    open[self] = nil
    for _, master in ipairs(self.masters) do
        process.kill_group(master.pid, posix_signal.SIGTERM)
    end
    process.gather(self.masters, { timeout_s = 2 })
    self.masters = {}
    files.remove_tree(self.folder)
end

return ssh
