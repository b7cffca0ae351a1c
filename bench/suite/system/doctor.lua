-- SPDX-License-Identifier: MIT
--
-- What on this machine will spoil a measurement, and the remedy. facts() reads, judge() is pure,
-- main() prints. Exit code: 0 nothing spoils, 1 something does.
--
-- Levels: "ok"; "note" = it limits or colours the result, state it; "bad" = the figures will
-- describe this condition and not the stack.

local sysconf = require("posix.unistd")
local resource = require("posix.sys.resource")
local clock = require("posix.time")

local limits = require("bench.suite.system.limits")
local proc = require("bench.suite.system.proc")
local sock_diag = require("bench.suite.system.sock_diag")

local doctor = {}

local function line_of(path)
    return (proc.read(path) or ""):match("^[^\n]+")
end

-- How many CPUs have which governor: {powersave = 8}; empty where there is none.
local function governors(cpus)
    local found = {}
    for cpu = 0, cpus - 1 do
        local name = line_of(("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor"):format(cpu))
        if name then
            found[name] = (found[name] or 0) + 1
        end
    end
    return found
end

-- Turbo as "on" or "off", nil where the kernel does not tell.
local function turbo()
    local intel = proc.number("/sys/devices/system/cpu/intel_pstate/no_turbo")
    local boost = proc.number("/sys/devices/system/cpu/cpufreq/boost")
    if intel then
        return intel == 0 and "on" or "off"
    end
    return boost and (boost == 1 and "on" or "off")
end

local function container()
    if proc.read("/run/.containerenv") then
        return "podman"
    elseif proc.read("/.dockerenv") then
        return "docker"
    end
    local kind = (proc.read("/proc/1/environ") or ""):match("container=(%w+)")
    return kind or (proc.read("/proc/1/cgroup") or ""):match("kubepods") or nil
end

-- Jiffies of /proc/stat: all and stolen by the hypervisor.
local function stolen()
    local fields = {}
    for number in ((proc.read("/proc/stat") or ""):match("^cpu%s+([^\n]*)") or ""):gmatch("%d+") do
        fields[#fields + 1] = tonumber(number)
    end
    local all = 0
    for i = 1, math.min(8, #fields) do
        all = all + fields[i]
    end
    return { all = all, steal = fields[8] or 0 }
end

-- Other programs that used the CPU between two looks, the busiest first: {command, share}, where
-- share 1 is one CPU.
local function busy_programs(window_s)
    local before, list = {}, {}
    for _, pid in ipairs(proc.pids()) do
        local info = proc.process(pid)
        before[pid] = info and info.run_s
    end
    clock.nanosleep({ tv_sec = math.floor(window_s), tv_nsec = (window_s % 1) * 1e9 })
    for pid, run_s in pairs(before) do
        local info = pid ~= sysconf.getpid() and proc.process(pid)
        local share = info and (info.run_s - run_s) / window_s or 0
        if share >= 0.02 then
            list[#list + 1] = { command = (proc.command(pid) or ""):sub(1, 60), share = share }
        end
    end
    table.sort(list, function(a, b)
        return a.share > b.share
    end)
    return list
end

-- Ports that somebody listens on; nil where the kernel does not tell.
local function listening_ports()
    local ports, reader = {}, sock_diag.open()
    if not reader then
        return nil
    end
    for key in pairs(reader:read("port")) do
        ports[#ports + 1] = tonumber(key:match("%d+"))
    end
    reader:close()
    table.sort(ports)
    return ports
end

local function number_after(path, word)
    return tonumber((proc.read(path) or ""):match(word .. "[: ]+(%d+)"))
end

--- Reads what the checks look at. <window_s>: how long other programs are watched (default 0.5).
function doctor.facts(window_s)
    window_s = window_s or 0.5
    local processors, memory = limits.processors(), limits.memory()
    local cpus = processors.affinity
    local before = stolen()
    local busy = busy_programs(window_s)
    local after = stolen()
    local listeners = listening_ports()
    local files = resource.getrlimit(resource.RLIMIT_NOFILE)
    local low, high = (proc.read("/proc/sys/net/ipv4/ip_local_port_range") or ""):match("(%d+)%s+(%d+)")
    return {
        cpus = cpus,
        processors = limits.text(processors),
        cgroup_cpus = processors.quota,
        cgroup = processors.group,
        container = container(),
        governors = governors(cpus),
        turbo = turbo(),
        load = tonumber((proc.read("/proc/loadavg") or ""):match("^(%S+)")),
        busy = busy,
        steal = after.all > before.all and (after.steal - before.steal) / (after.all - before.all) or 0,
        clock = line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        somaxconn = proc.number("/proc/sys/net/core/somaxconn"),
        syn_backlog = proc.number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
        ports = low and { low = tonumber(low), high = tonumber(high) },
        tw_reuse = proc.number("/proc/sys/net/ipv4/tcp_tw_reuse"),
        time_wait = number_after("/proc/net/sockstat", " tw"),
        files = { soft = files.rlim_cur, hard = files.rlim_max },
        pids_max = proc.number("/proc/sys/kernel/pid_max"),
        available_kib = memory.available_kib,
        memory_limit_kib = memory.limit_kib,
        memory_group = memory.group,
        swap_used_kib = (number_after("/proc/meminfo", "SwapTotal") or 0) - (number_after("/proc/meminfo",
            "SwapFree") or 0),
        listeners = listeners or {},
        schedstat = proc.read("/proc/self/schedstat") ~= nil,
        pss = proc.read("/proc/self/smaps_rollup") ~= nil,
        queues = listeners ~= nil,
    }
end

-- Rows in the order of the report: name, and a function of the facts that returns level, what was
-- found, remedy.
local CHECKS = {
    { "processors", function(f)
        if f.cpus <= 2 then
            return "note", f.cpus .. ": client, web server and pool share them",
                "compare ratios, not absolute rates; or run the client on another machine"
        end
        return "ok", tostring(f.cpus)
    end },
    { "CPU limit", function(f)
        if f.cgroup_cpus and f.cgroup_cpus < f.cpus then
            return "bad", ("the control group %s allows %.4g of %d CPUs; throttling looks like stalls"):format(
                f.cgroup or "?", f.cgroup_cpus, f.cpus),
                "run without a CPU quota (docker --cpus, CPUQuota=), or bind to whole CPUs with cpusets"
        end
        return "ok", "none"
    end },
    { "container", function(f)
        if f.container then
            return "note", f.container,
                "kernel settings and memory limits may belong to the host: state it with the result"
        end
        return "ok", "none found"
    end },
    { "governor", function(f)
        local names, slow = {}, false
        for name, count in pairs(f.governors) do
            names[#names + 1] = name .. " x " .. count
            slow = slow or name ~= "performance"
        end
        if slow then
            return "bad", table.concat(names, ", ") .. ": the clock follows the load",
                "cpupower frequency-set -g performance"
        end
        return "ok", #names > 0 and table.concat(names) or "not visible (virtual machine)"
    end },
    { "turbo", function(f)
        if f.turbo == "on" then
            return "note", "on: the first seconds run faster than the rest",
                "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo (or 0 > cpufreq/boost)"
        end
        return "ok", f.turbo or "not visible"
    end },
    { "load average", function(f)
        if f.load and f.load > 0.5 * f.cpus then
            return "bad", ("%.2f on %d CPUs before anything was started"):format(f.load, f.cpus),
                "end what runs, wait a minute"
        end
        return "ok", ("%.2f"):format(f.load or 0)
    end },
    { "other programs", function(f)
        local total, names = 0, {}
        for i, program in ipairs(f.busy) do
            total = total + program.share
            if i <= 3 then
                names[i] = ("%s (%.0f %%)"):format(program.command, program.share * 100)
            end
        end
        if total > 0.05 * f.cpus then
            return total > 0.2 * f.cpus and "bad" or "note",
                ("use %.0f %% of a CPU now: %s"):format(total * 100, table.concat(names, ", ")),
                    "end them for the time of the run"
        end
        return "ok", "quiet"
    end },
    { "stolen time", function(f)
        if f.steal > 0.02 then
            return "bad", ("the hypervisor took %.1f %%"):format(f.steal * 100),
                "another machine, or another hour; more rounds"
        end
        return "ok", ("%.1f %%"):format(f.steal * 100)
    end },
    { "clock source", function(f)
        if f.clock == "hpet" or f.clock == "acpi_pm" or f.clock == "jiffies" then
            return "bad", f.clock .. ": reading the time costs a microsecond and more",
                "boot with a stable tsc (dmesg says why it was refused)"
        end
        return "ok", f.clock or "unknown"
    end },
    { "somaxconn", function(f)
        if (f.somaxconn or 0) < 1024 then
            return "bad", f.somaxconn .. ": every backlog above it is cut, 1,000 clients overflow it",
                "sysctl -w net.core.somaxconn=4096"
        end
        return "ok", tostring(f.somaxconn)
    end },
    { "SYN backlog", function(f)
        if (f.syn_backlog or 0) < 512 then
            return "note", f.syn_backlog .. ": bursts of connections wait 1 s and 3 s",
                "sysctl -w net.ipv4.tcp_max_syn_backlog=4096"
        end
        return "ok", tostring(f.syn_backlog)
    end },
    { "local ports", function(f)
        local count = f.ports and f.ports.high - f.ports.low + 1 or 0
        local per_s = math.floor(count / 60)
        if f.tw_reuse == 0 or count < 10000 then
            return "bad", ("%d ports, tcp_tw_reuse %s: above %d new connections/s they run out"):format(count,
                f.tw_reuse, per_s),
                "sysctl -w net.ipv4.tcp_tw_reuse=2 net.ipv4.ip_local_port_range='15000 65000', or kept connections"
        end
        return "ok", ("%d, tcp_tw_reuse %s"):format(count, f.tw_reuse)
    end },
    { "TIME_WAIT", function(f)
        if (f.time_wait or 0) > 5000 then
            return "note", f.time_wait .. " closed connections still hold ports", "wait 60 s before the run"
        end
        return "ok", tostring(f.time_wait or 0)
    end },
    { "descriptors", function(f)
        if f.files.soft >= 0 and f.files.soft < 4096 then
            return f.files.soft < 1100 and "bad" or "note", f.files.soft .. " per process; 1,000 clients need 1,100",
                "ulimit -n " .. math.max(65536, f.files.soft) .. " (hard limit " .. f.files.hard .. ")"
        end
        return "ok", tostring(f.files.soft)
    end },
    { "process ids", function(f)
        if (f.pids_max or 32768) < 4096 then
            return "note", f.pids_max .. ": a pool of 1,024 and its clients may not fit",
                "sysctl -w kernel.pid_max=32768"
        end
        return "ok", tostring(f.pids_max)
    end },
    { "memory", function(f)
        if f.swap_used_kib > 102400 then
            return "bad", ("%d MiB are swapped out"):format(f.swap_used_kib / 1024),
                "swapoff -a, or end what needs the memory"
        elseif (f.available_kib or 0) < 512 * 1024 then
            return "bad", ("%d MiB available"):format((f.available_kib or 0) / 1024), "end what needs the memory"
        end
        if f.memory_limit_kib then
            return "note", ("%.1f GiB available; the control group %s allows %.0f MiB"):format(f.available_kib / 1048576,
                f.memory_group, f.memory_limit_kib / 1024), "a pool that needs more is killed: tune --memory, or a larger limit"
        end
        return "ok", ("%.1f GiB available, no swapping"):format(f.available_kib / 1048576)
    end },
    { "other listeners", function(f)
        if #f.listeners > 0 then
            local first = table.concat(f.listeners, ", ", 1, math.min(#f.listeners, 8))
            return "note", ("%d ports are taken (%s)"):format(#f.listeners, first),
                "the suite takes free ports; servers that idle do no harm"
        end
        return "ok", "none"
    end },
    { "measuring", function(f)
        local missing = {}
        for name, there in pairs({ ["CPU time in ns (schedstat)"] = f.schedstat, ["PSS (smaps_rollup)"] = f.pss,
            ["listen queues (sock_diag)"] = f.queues }) do
            if not there then
                missing[#missing + 1] = name
            end
        end
        if #missing > 0 then
            table.sort(missing)
            return "note", "not offered here: " .. table.concat(missing, ", "),
                "the columns stay empty or coarse; nothing else to do"
        end
        return "ok", "CPU time, PSS and listen queues can be read"
    end },
}

--- Judges facts: a list of {name, level, found, remedy (nil when ok)} in the order of the report.
function doctor.judge(facts)
    local list = {}
    for i, check in ipairs(CHECKS) do
        local level, found, remedy = check[2](facts)
        list[i] = { name = check[1], level = level, found = found, remedy = remedy }
    end
    return list
end

--- The worst level of a list: "ok", "note" or "bad".
function doctor.worst(list)
    local worst = "ok"
    for _, item in ipairs(list) do
        if item.level == "bad" or (item.level == "note" and worst == "ok") then
            worst = item.level
        end
    end
    return worst
end

local MARKS = { ok = "  ok  ", note = " note ", bad = " BAD  " }

--- The report as text, one or two lines for each check.
function doctor.text(list)
    local lines = {}
    for _, item in ipairs(list) do
        lines[#lines + 1] = ("[%s] %-16s %s"):format(MARKS[item.level], item.name, item.found)
        if item.remedy then
            lines[#lines + 1] = (" "):rep(26) .. "remedy: " .. item.remedy
        end
    end
    return table.concat(lines, "\n") .. "\n"
end

--- bench/bench doctor [--json]: prints the report, returns the exit code (0, or 1 when something
-- will spoil a measurement).
function doctor.main(arguments)
    local list = doctor.judge(doctor.facts())
    local worst = doctor.worst(list)
    if arguments and arguments[1] == "--json" then
        io.write(require("cjson").encode({ worst = worst, checks = list }), "\n")
    else
        io.write(doctor.text(list))
        io.write(worst == "bad" and "Some of this will" or "Nothing here will", " spoil a measurement.\n")
    end
    return worst == "bad" and 1 or 0
end

return doctor
