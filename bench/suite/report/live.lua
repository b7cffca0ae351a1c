-- What the terminal shows while a run goes on: one line that is rewritten in place, and lines that
-- stay. Where the output is no terminal, only the lines that stay, with the time left in them.

local unistd = require("posix.unistd")
local process = require("bench.suite.system.process")

local live = {}
live.__index = live

local WIDTH = 100

--- A view on standard output. <planned_s>: the whole run as planned. plain = true forces lines.
function live.new(planned_s, plain)
    return setmetatable({
        tty = not plain and unistd.isatty(1) == 1,
        planned_s = planned_s,
        done_s = 0,
        started = process.now(),
        shown = false,
    }, live)
end

--- Seconds as "4:05".
function live.clock(seconds)
    seconds = math.max(0, math.floor(seconds + 0.5))
    return ("%d:%02d"):format(math.floor(seconds / 60), seconds % 60)
end

--- Seconds left: the plan's rest, scaled by how the plan has fared so far. The plan itself counts
-- for as much as is still ahead: what its first steps were off by says little about the others.
function live:left_s(within_s)
    local done = self.done_s + (within_s or 0)
    local spent = process.now() - self.started
    local trust = math.min(1, done / math.max(1, self.planned_s))
    local factor = done > 0 and (1 - trust) + trust * math.max(0.25, math.min(4, spent / done)) or 1
    return math.max(0, self.planned_s - done) * factor
end

--- <planned_s> seconds of the plan are done.
function live:advance(planned_s)
    self.done_s = self.done_s + planned_s
end

local function cut(text, width)
    return #text > width and text:sub(1, width - 3) .. "..." or text
end

--- The line that changes: <text> and the time left.
function live:status(text)
    if self.tty then
        io.stdout:write("\r\27[K", cut(text, WIDTH - 12), "  ", live.clock(self:left_s()), " left")
        io.stdout:flush()
        self.shown = true
    end
end

--- A line that stays.
function live:line(text)
    if self.shown then
        io.stdout:write("\r\27[K")
        self.shown = false
    end
    io.stdout:write(text, "\n")
    io.stdout:flush()
end

--- A heading that stays, with the time left.
function live:heading(text)
    self:line(("%s  (%s left)"):format(text, live.clock(self:left_s())))
end

return live
