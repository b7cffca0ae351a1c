-- SPDX-License-Identifier: MIT
--
-- How far a host's clock is from ours: its time is asked for over the connection, as NTP does
-- (RFC 5905, section 8). The answer was written at some moment between question and answer, so that
-- half the round trip bounds the error, whatever the way to and fro takes.

local poll = require("posix.poll")
local posix_signal = require("posix.signal")
local unistd = require("posix.unistd")
local process = require("bench.suite.system.process")

local SAMPLES = 16
local ANSWER_S = 5
-- bash tells the time without starting a program.
local TELL = "while read -r _; do echo \"$EPOCHREALTIME\"; done"

local clock = {}

--- From a list of {sent_s, told_s, received_s} (ours, the host's, ours; seconds since 1970) the
-- sample with the shortest round trip: {offset_s (the host's clock minus ours), error_s, samples};
-- nil without samples.
function clock.estimate(samples)
    local best
    for _, sample in ipairs(samples) do
        local error_s = (sample.received_s - sample.sent_s) / 2
        if error_s >= 0 and (not best or error_s < best.error_s) then
            best = { offset_s = sample.told_s - (sample.sent_s + sample.received_s) / 2, error_s = error_s, samples = #samples }
        end
    end
    return best
end

local function read_line(fd)
    local text, deadline = "", process.now() + ANSWER_S
    while not text:find("\n", 1, true) do
        local left = math.ceil((deadline - process.now()) * 1000)
        local data = left > 0 and poll.rpoll(fd, left) == 1 and unistd.read(fd, 256)
        if not data or data == "" then
            return nil
        end
        text = text .. data
    end
    return text
end

local function ask(fd, child)
    local sample = { sent_s = process.wall() }
    if not unistd.write(fd, "\n") then
        return nil
    end
    local line = read_line(child.output)
    sample.received_s = process.wall()
    sample.told_s = tonumber(line and line:match("^(%d+%.%d+)\n"))
    return sample.told_s and sample
end

--- Measures the clock of the host of <session> (of ssh.open): what estimate() returns, or nil and a
-- reason. Takes about <count> (default 16) round trips.
function clock.measure(session, count)
    local read_end, write_end = process.pipe()
    local argv = { "env", "LC_ALL=C", "bash", "-c", TELL }
    local child, reason = process.start(session:command(session.masters[1], argv), { input = read_end })
    unistd.close(read_end)
    if not child then
        unistd.close(write_end)
        return nil, reason
    end
    local before = posix_signal.signal(posix_signal.SIGPIPE, posix_signal.SIG_IGN)
    local samples = {}
    for number = 1, (count or SAMPLES) + 1 do
        local sample = ask(write_end, child)
        if not sample then
            break
        elseif number > 1 then -- the first one waited for the shell to start
            samples[#samples + 1] = sample
        end
    end
    posix_signal.signal(posix_signal.SIGPIPE, before or posix_signal.SIG_DFL)
    unistd.close(write_end)
    local result = process.gather({ child }, { timeout_s = ANSWER_S })[1]
    local estimate = clock.estimate(samples)
    if not estimate then
        return nil, ("%s: its clock cannot be read: %s"):format(session.host.name, (result.err:gsub("%s+$", "")))
    end
    return estimate
end

return clock
