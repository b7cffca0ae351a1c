-- SPDX-License-Identifier: MIT
--
-- One host of a lab: its keys, its sshd's configuration, its start. All its processes live in
-- namespaces of their own (network, processes, mounts, name), so that it ends with its first one.

local bit = require("bit")
local fcntl = require("posix.fcntl")
local socket = require("posix.sys.socket")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local files = require("bench.suite.system.files")
local lab_share = require("bench.suite.lab.lab_share")
local proc = require("bench.suite.system.proc")
local process = require("bench.suite.system.process")

local PORT = 22
local READY_S = 15
local OWNER_ONLY, PRIVATE_FILE = 448, 384

local lab_host = {}

-- Keys and nothing else open it, and only on the host's own address.
local CONFIG = [[
ListenAddress %s:%d
HostKey %s/host_key
AuthorizedKeysFile %s/authorized_keys
PidFile none
AllowUsers root
PermitRootLogin prohibit-password
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
X11Forwarding no
AllowTcpForwarding no
AllowAgentForwarding no
Subsystem sftp internal-sftp
]]

local function keygen(path, comment)
    local result = process.run({ "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path })
    if result.code ~= 0 then
        error("ssh-keygen: " .. result.err, 0)
    end
    return (files.read(path .. ".pub"):gsub("%s+$", ""))
end

--- Makes the key pair of lab <name> in <folder>; each host of it lets that key in.
function lab_host.make_key(name, folder)
    assert(files.write(folder .. "/authorized_keys", keygen(folder .. "/key", "lab " .. name) .. "\n"))
    stat.chmod(folder .. "/authorized_keys", PRIVATE_FILE)
end

--- Makes the folder of <host> (of lab_plan.hosts), its key and configuration. Returns its line of
-- known_hosts. Raises an error.
function lab_host.make(host, folder)
    assert(files.make_folder(host.folder))
    stat.chmod(host.folder, OWNER_ONLY)
    assert(stat.mkdir(host.folder .. "/home", OWNER_ONLY))
    assert(stat.mkdir(host.folder .. "/tmp", 1023))
    stat.chmod(host.folder .. "/tmp", 1023) -- whatever the umask
    local config = CONFIG:format(host.address, PORT, host.folder, folder)
    assert(files.write(host.folder .. "/sshd_config", config))
    local key = keygen(host.folder .. "/host_key", host.name)
    return host.address .. " " .. key:match("^%S+ %S+")
end

local function redirect(log)
    local null = fcntl.open("/dev/null", fcntl.O_RDONLY)
    local out = fcntl.open(log, bit.bor(fcntl.O_WRONLY, fcntl.O_CREAT, fcntl.O_APPEND), PRIVATE_FILE)
    unistd.dup2(null, 0)
    unistd.dup2(out, 1)
    unistd.dup2(out, 2)
    for _, entry in ipairs(files.list("/proc/self/fd")) do
        if tonumber(entry) > 2 then
            unistd.close(tonumber(entry))
        end
    end
end

--- Starts <host>, which has its network (and group). It outlives this process. Sets host.pid and
-- host.start_ticks, by which it is known again. <root>: the checkout.
function lab_host.start(host, root)
    io.stdout:flush()
    io.stderr:flush()
    local pid = assert(unistd.fork())
    if pid == 0 then
        unistd.setpid("s")
        redirect(host.folder .. "/host.log")
        unistd.chdir("/")
        local ok, reason = lab_share.enter(host)
        if ok then
            reason = select(2, unistd.execp("nsenter", {
                "--net=/run/netns/" .. host.namespace, "--",
                "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "--",
                "luajit", root .. "/bench/suite/lab/host-init", host.folder, host.name,
            }))
        end
        unistd.write(2, tostring(reason) .. "\n")
        unistd._exit(127)
    end
    host.pid = pid
    local info = proc.parse_stat(files.read("/proc/" .. pid .. "/stat") or "")
    host.start_ticks = info and info.start_ticks
end

--- Whether the process that <host> was started as lives (a zombie does not, nor another process
-- that has got its number).
function lab_host.alive(host)
    local info = host.pid and proc.parse_stat(files.read("/proc/" .. host.pid .. "/stat") or "")
    return info ~= nil and info.state ~= "Z" and info.start_ticks == host.start_ticks
end

--- Whether an SSH server answers at <host> within <timeout_s>. It says its version first (RFC 4253, 4.2).
function lab_host.answers(host, timeout_s)
    local fd = assert(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0))
    local seconds = math.floor(timeout_s)
    local micros = math.floor((timeout_s - seconds) * 1e6)
    socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_RCVTIMEO, seconds, micros)
    socket.setsockopt(fd, socket.SOL_SOCKET, socket.SO_SNDTIMEO, seconds, micros)
    local text = socket.connect(fd, { family = socket.AF_INET, addr = host.address, port = PORT }) and unistd.read(fd, 4)
    unistd.close(fd)
    return text == "SSH-"
end

--- Waits until <host> can be reached. True, or nil and why not.
function lab_host.await(host)
    local deadline = process.now() + READY_S
    while process.now() < deadline do
        if lab_host.answers(host, 1) then
            return true
        elseif not lab_host.alive(host) then
            break
        end
        process.sleep(0.02)
    end
    local why = (files.read(host.folder .. "/host.log") or "") .. (files.read(host.folder .. "/sshd.log") or "")
    return nil, ("%s: its sshd does not answer: %s"):format(host.name, why ~= "" and why or "no message")
end

return lab_host
