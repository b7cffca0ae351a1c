-- What a result must be read with: processors, kernel, versions, settings, load before the run.

local utsname = require("posix.sys.utsname")
local files = require("bench.suite.system.files")
local limits = require("bench.suite.system.limits")
local process = require("bench.suite.system.process")
local which = require("bench.suite.system.which")

local machine = {}

-- What no stack needs and results depend on all the same.
local OTHERS = { gcc = { "gcc", "--version" }, php = { "php", "-v" } }

local SETTINGS = {
    somaxconn = "/proc/sys/net/core/somaxconn",
    local_ports = "/proc/sys/net/ipv4/ip_local_port_range",
    tcp_tw_reuse = "/proc/sys/net/ipv4/tcp_tw_reuse",
    tcp_max_syn_backlog = "/proc/sys/net/ipv4/tcp_max_syn_backlog",
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    turbo_off = "/sys/devices/system/cpu/intel_pstate/no_turbo",
    clocksource = "/sys/devices/system/clocksource/clocksource0/current_clocksource",
}

local function first_line(path)
    local text = files.read(path)
    return text and text:match("^[^\n]*"):gsub("\t", " ") or nil
end

--- Processor time of the whole machine so far, in seconds: busy (user, nice, system), softirq, steal.
function machine.cpu_times()
    local user, nice, system, softirq, steal =
        (files.read("/proc/stat", 400) or ""):match("^cpu%s+(%d+) (%d+) (%d+) %d+ %d+ %d+ (%d+) (%d+)")
    if not user then
        return nil
    end
    return { busy_s = (user + nice + system) / 100, softirq_s = softirq / 100, steal_s = steal / 100 }
end

--- Threads that run or want to, this one included; nil when the kernel does not tell.
function machine.running()
    return tonumber((files.read("/proc/loadavg", 100) or ""):match("(%d+)/"))
end

local function commit(root)
    local result = process.run({ "git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12" }, { timeout_s = 5 })
    return result.code == 0 and result.out:match("%S+") or nil
end

--- The record: {cpu, cpus (that this process may run on), usable_cpus (fewer under a quota), processors (both
-- in words), memory_mib, memory_limit_mib and memory_group (of a control group), kernel, system, settings,
-- load_average, versions, commit}.
-- <version_commands>: program -> argv that prints its version (stack.version_commands); the first line counts.
function machine.describe(root, version_commands)
    local name, processors, memory = utsname.uname(), limits.processors(), limits.memory()
    local record = {
        cpu = (files.read("/proc/cpuinfo") or ""):match("model name%s*:%s*([^\n]+)"),
        cpus = processors.affinity,
        usable_cpus = processors.usable,
        processors = limits.text(processors),
        memory_mib = memory.total_kib and math.floor(memory.total_kib / 1024),
        memory_limit_mib = memory.limit_kib and math.floor(memory.limit_kib / 1024),
        memory_group = memory.group,
        kernel = name.sysname .. " " .. name.release,
        architecture = name.machine,
        system = (files.read("/etc/os-release") or ""):match('PRETTY_NAME="([^"]*)"'),
        load_average = tonumber((files.read("/proc/loadavg") or ""):match("^%S+")),
        virtualised = (files.read("/proc/cpuinfo") or ""):find("hypervisor", 1, true) ~= nil,
        settings = {},
        versions = {},
        commit = commit(root),
    }
    for key, path in pairs(SETTINGS) do
        record.settings[key] = first_line(path)
    end
    for program, argv in pairs(version_commands or {}) do
        record.versions[program] = process.first_line(argv)
    end
    for program, argv in pairs(OTHERS) do
        local path = which.program(argv[1])
        record.versions[program] = path and process.first_line({ path, unpack(argv, 2) })
    end
    return record
end

return machine
