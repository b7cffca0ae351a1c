-- SPDX-License-Identifier: MIT
--
-- The lines that keep a program on a host alive (remote.lua): one process for each, which writes an
-- empty line every second until it is stopped, its reader is gone, or we are.

local ffi = require("ffi")
local posix_signal = require("posix.signal")
local unistd = require("posix.unistd")
local files = require("bench.suite.system.files")
local process = require("bench.suite.system.process")

local PERIOD_S = 1
local PR_SET_PDEATHSIG = 1

local pulse = {}

local function beat(fd, parent)
    unistd.setpid("p", 0, 0)
    ffi.C.prctl(PR_SET_PDEATHSIG, posix_signal.SIGKILL, 0, 0, 0)
    for _, number in ipairs({ posix_signal.SIGINT, posix_signal.SIGTERM, posix_signal.SIGHUP }) do
        posix_signal.signal(number, posix_signal.SIG_DFL)
    end
    posix_signal.signal(posix_signal.SIGPIPE, posix_signal.SIG_DFL)
    -- An end of another pipe, held here, would keep that one open.
    for _, name in ipairs(files.list("/proc/self/fd")) do
        if tonumber(name) ~= fd then
            unistd.close(tonumber(name))
        end
    end
    while unistd.getppid() == parent and unistd.write(fd, "\n") do
        process.sleep(PERIOD_S)
    end
    unistd._exit(0)
end

--- Starts one. Returns it, with read_end for the program that shall be kept alive, or nil and a reason.
function pulse.start()
    local read_end, write_end = process.pipe()
    local parent = unistd.getpid()
    io.stdout:flush()
    io.stderr:flush()
    local pid, reason = unistd.fork()
    if pid == 0 then
        beat(write_end, parent)
    elseif not pid then
        unistd.close(read_end)
        unistd.close(write_end)
        return nil, "fork: " .. tostring(reason)
    end
    return { pid = pid, read_end = read_end, write_end = write_end }
end

--- Closes our copy of read_end, once the program has its own.
function pulse.connected(self)
    unistd.close(self.read_end)
    self.read_end = nil
end

--- Writes the line <text>; quiet when the reader is gone.
function pulse.say(self, text)
    local before = posix_signal.signal(posix_signal.SIGPIPE, posix_signal.SIG_IGN)
    unistd.write(self.write_end, text .. "\n")
    posix_signal.signal(posix_signal.SIGPIPE, before or posix_signal.SIG_DFL)
end

--- Ends it: the reader gets end-of-file.
function pulse.stop(self)
    posix_signal.kill(self.pid, posix_signal.SIGKILL)
    process.reap(self.pid)
    unistd.close(self.write_end)
end

return pulse
