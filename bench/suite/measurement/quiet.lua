-- A quiet machine around each measurement: waiting for one, and telling how quiet it was.

local machine = require("bench.suite.system.machine")
local proc = require("bench.suite.system.proc")
local process = require("bench.suite.system.process")

local quiet = {}

-- A stack may still work off what the last measurement left in its queues (a thousand clients' pages,
-- CGI processes). So many looks in a row find the machine idle, or SETTLE_S is over; all together wait
-- at most this share of the run, for a machine that never rests.
local QUIET_LOOKS, LOOK_S, SETTLE_S, SETTLE_SHARE = 3, 0.005, 3, 0.06

--- Waits until the machine rests. <context> is the run's: live (planned_s), and settled_s, which counts
-- the seconds waited so far.
function quiet.settle(context)
    local began, looks = process.now(), 0
    context.settled_s = context.settled_s or 0
    local limit_s = math.min(SETTLE_S, context.live.planned_s * SETTLE_SHARE - context.settled_s)
    while looks < QUIET_LOOKS and process.now() - began < limit_s do
        looks = (machine.running() or 1) <= 1 and looks + 1 or 0
        process.sleep(LOOK_S)
    end
    context.settled_s = context.settled_s + process.now() - began
end

--- Processor time so far, in seconds: {machine_s, own_s}, own being the suite with the client and the
-- sampler, which it has reaped. nil when the kernel does not tell.
function quiet.cpu_times()
    local machine_s, own = machine.cpu_times(), proc.process("self")
    return machine_s and own and {
        machine_s = machine_s.busy_s,
        own_s = own.user_s + own.system_s + own.reaped_user_s + own.reaped_system_s,
    }
end

--- Processors that were busy with neither servers nor client nor suite during <slot>, which lay between
-- two looks of cpu_times(); nil when unknown.
function quiet.foreign_cpus(before, after, slot)
    if not before or not after or not slot.client then
        return nil
    end
    local own_s = slot.resources.server_cpu_s + after.own_s - before.own_s
    return math.max(0, (after.machine_s - before.machine_s - own_s) / math.max(slot.elapsed_s, 0.1))
end

return quiet
