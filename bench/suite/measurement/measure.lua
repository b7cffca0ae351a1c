-- One slot: one run of the load client against one stack, with what the kernel and the process
-- groups did meanwhile. Also the check of a page before it is measured.

local cjson = require("cjson")
local figures = require("bench.suite.analysis.figures")
local files = require("bench.suite.system.files")
local http = require("bench.suite.system.http")
local limits = require("bench.suite.system.limits")
local process = require("bench.suite.system.process")
local proc = require("bench.suite.system.proc")
local sample = require("bench.suite.measurement.sample")

-- Sampling may cost this part of one processor; the interval grows with the number of processes.
local SAMPLING_SHARE, COST_PER_PROCESS_S, SHORTEST_INTERVAL_S = 0.01, 0.00015, 0.1
-- Larger groups are only looked at before and after a slot, and taken to stay the same processes.
local SAMPLED_AT_MOST = 200
-- Time the client may take beyond what it was asked for before it is ended.
local CLIENT_GRACE_S = 15

local measure = {}

--- Command line of the load client for <target> (URL) and <load>: {connections, keep_alive,
-- requests | seconds, rate_per_s (open loop), threads, script_filename, timeout_s, headers, method, post_file (path of
-- a body that each request sends) and its content_type, expect = {status, bytes, variable, body_file}}.
function measure.arguments(client, target, load)
    local argv = { client, "-f", "json", "-c", tostring(load.connections) }
    local function add(...)
        for _, word in ipairs({ ... }) do
            argv[#argv + 1] = word
        end
    end
    if load.requests then
        add("-n", ("%d"):format(load.requests))
    else
        add("-d", ("%dms"):format(math.floor(load.seconds * 1000 + 0.5)))
    end
    if load.rate_per_s then
        add("-R", ("%g"):format(load.rate_per_s))
    end
    if load.threads then
        add("-j", tostring(load.threads))
    end
    if load.script_filename then
        add("--script-filename", load.script_filename)
    end
    if load.keep_alive then
        add("-k")
    end
    for _, header in ipairs(load.headers or {}) do
        add("-H", header)
    end
    if load.method then
        add("-m", load.method)
    end
    if load.post_file then
        add("-p", load.post_file, "-T", load.content_type or "application/octet-stream")
    end
    local expect = load.expect or {}
    if expect.status then
        add("--expect-status", tostring(expect.status))
    end
    if expect.bytes then
        add("--expect-length", tostring(expect.bytes))
    elseif expect.variable then
        add("--variable")
    end
    if expect.body_file then
        add("--expect-body", expect.body_file)
    end
    if load.timeout_s then
        add("--timeout", ("%gs"):format(load.timeout_s))
    end
    add(target)
    return argv
end

-- cjson's null becomes nil, at every depth.
local function without_nulls(value)
    if type(value) ~= "table" then
        return value ~= cjson.null and value or nil
    end
    for key, inner in pairs(value) do
        value[key] = without_nulls(inner)
    end
    return value
end

--- The load client's JSON text as a table; nil and the reason when it is none.
function measure.parse(text)
    local ok, result = pcall(cjson.decode, text)
    if not ok or type(result) ~= "table" or type(result.requests) ~= "table" then
        return nil, "no result in the load client's output"
    end
    return without_nulls(result)
end

--- Address of the application's listen queue ("unix:/path" or "host:port"); nil when it has none.
function measure.queue_address(handle)
    local socket = handle.fcgi and handle.fcgi:match("^fcgi%+unix:(.-):")
    return socket and "unix:" .. socket or handle.fcgi and handle.fcgi:match("^fcgi://([^/]+)")
end

-- The listen queues of a stack: its front and its pool.
local function queues(handle)
    local list = {}
    local front = handle.url:match("^http://([^/]+:%d+)")
    if front then
        list[1] = { name = "front", address = front }
    end
    local address = measure.queue_address(handle)
    if address then
        list[#list + 1] = { name = "pool", address = address }
    end
    return list
end

-- The groups as they are before a slot: finding the processes of a large group costs more than
-- reading them, so it is done once a slot, and for large groups once for the stack. Returns all,
-- those small enough to be sampled, and the number of processes of the latter.
local function freeze(handle)
    local all, sampled, count = {}, {}, 0
    handle.frozen = handle.frozen or {}
    for i, group in ipairs(handle.groups) do
        local pids = handle.frozen[group.name] or group.pids()
        all[i] = { name = group.name, pids = function()
            return pids
        end }
        if #pids > SAMPLED_AT_MOST then
            handle.frozen[group.name] = pids
        else
            sampled[#sampled + 1], count = all[i], count + #pids
        end
    end
    return all, sampled, count
end

-- The groups after a slot: small ones may have other processes by now.
local function groups_after(handle, frozen)
    local list = {}
    for i, group in ipairs(handle.groups) do
        list[i] = handle.frozen[group.name] and frozen[i] or group
    end
    return list
end

-- Time series of a slot from the sampler's records: each interval from_s to at_s, in seconds since
-- the load began, and for each group the processors it kept busy.
local function series(records, began_s)
    local list = {}
    for i = 2, #records do
        local a, b = records[i - 1], records[i]
        local span = b.monotonic_s - a.monotonic_s
        if span > 0.02 then
            local point = { from_s = a.at_s - began_s, at_s = b.at_s - began_s, cpu = {} }
            for name, group in pairs(b.groups) do
                local before = a.groups[name]
                point.cpu[name] = before and math.max(0, group.cpu_s - before.cpu_s) / span or 0
            end
            point.network_bytes_per_s = ((b.loopback or {}).rx_bytes or 0) / span - ((a.loopback or {}).rx_bytes or 0) / span
            list[#list + 1] = point
        end
    end
    return list
end

local function resources(difference, ok, records, began_s)
    local total, groups = 0, difference.groups
    for _, group in pairs(groups) do
        total = total + group.cpu_s
    end
    return {
        groups = groups,
        server_cpu_s = total,
        -- Of a server at somebody's address nothing is seen: no figure, not zero.
        server_cpu_us_per_request = ok > 0 and next(groups) and total / ok * 1e6 or nil,
        loopback_bytes = difference.loopback.rx_bytes,
        sampler_cpu_s = records[1] and records[#records].cost_s or 0,
        series = series(records, began_s),
        queues = sample.queue_maxima(records),
    }
end

local LATENCIES = { "response_us", "service_us", "connect_us", "first_byte_us" }

-- The full spectrum from the text of an .hgrm file: {quantile, us} where the share of slower answers
-- has fallen by another tenth of a decade, as far as ten samples lie beyond.
local function spectrum(text)
    local list, last, total = {}, -1, tonumber(text:match("Total count%s*=%s*(%d+)") or 0)
    for value, quantile in text:gmatch("\n%s*([%d.]+)%s+([%d.]+)%s+%d+%s+[%d.]+") do
        local q = tonumber(quantile)
        local nines = -math.log10(1 - math.min(q, 0.9999999))
        if q < 1 and nines - last >= 0.1 and total * (1 - q) >= 10 then
            list[#list + 1] = { quantile = q, us = tonumber(value) * 1000 }
            last = nines
        end
    end
    return list
end

-- Percentiles that the client withholds because fewer than ten answers lie beyond them: read from the spectrum's
-- text all the same, and marked in `few`.
local function add_few(times, text)
    times.few = {}
    for _, figure in ipairs(figures.latency) do
        if figure.q and times[figure.key] == nil then
            for value, quantile in text:gmatch("\n%s*([%d.]+)%s+([%d.]+)%s+%d+%s+[%d.]+") do
                if tonumber(quantile) >= figure.q then
                    times[figure.key], times.few[figure.key] = tonumber(value) * 1000, true
                    break
                end
            end
        end
    end
end

--- Merges the results in the files <paths> exactly (histograms, not averages): {response_us,
-- service_us, connect_us, first_byte_us, spectrum = list of {quantile, us}}; nil when that fails.
function measure.merge(client, paths, scratch)
    local hgrm = scratch .. "/merged.hgrm"
    local run = process.run({ client, "merge", "-f", "json", "--hgrm", hgrm, unpack(paths) }, { timeout_s = 20 })
    local result = measure.parse(run.out)
    if not result then
        return nil
    end
    local text = files.read(hgrm) or ""
    local merged = { spectrum = spectrum(text) }
    for _, name in ipairs(LATENCIES) do
        merged[name] = result[name]
    end
    if merged.response_us then
        add_few(merged.response_us, text)
    end
    return merged
end

local raw_count = 0

-- Keeps the client's output in a file for merge and drops its histograms from <result>.
local function keep_raw(slot, result, text, scratch)
    raw_count = raw_count + 1
    slot._raw = ("%s/slot-%d.json"):format(scratch, raw_count)
    local ok, reason = files.write(slot._raw, text)
    if not ok then
        error("the results of a slot cannot be kept: " .. tostring(reason), 0)
    end
    result.histograms = nil
end

local function load_average()
    return tonumber((proc.read("/proc/loadavg") or ""):match("^(%S+)"))
end

--- Measures one slot. <handle> is a running stack (url, groups, fcgi), <load> as for
-- measure.arguments. options: client (path), scratch (folder), tick, memory (also PSS). Returns the slot:
-- {started_s (UTC, when the load began), load_before, elapsed_s, ok_per_s, client = the client's result, resources,
-- tcp_ext, throttled (see limits.throttled), argv} or {error}. An interrupt passes through.
function measure.slot(handle, path, load, options)
    local argv = measure.arguments(options.client, handle.url .. path, load)
    local slot = { started_s = process.wall(), load_before = load_average(), argv = argv }
    local groups, sampled, processes = freeze(handle)
    local held_back = limits.counters()
    local before = sample.take(groups)
    local sampler = sample.start(sampled, {
        path = options.scratch .. "/sample.ndjson",
        interval_s = math.max(SHORTEST_INTERVAL_S, processes * COST_PER_PROCESS_S / SAMPLING_SHARE),
        queues = queues(handle),
    })
    local expected_s = load.seconds or load.expected_s or 60
    local ok, run = pcall(process.run, argv, {
        timeout_s = expected_s + (load.timeout_s or 10) + CLIENT_GRACE_S,
        tick = options.tick,
    })
    local records = sampler and sample.stop(sampler) or {}
    if not ok then
        error(run, 0)
    end
    local after = sample.take(groups_after(handle, groups), { memory = options.memory })
    local result, reason = measure.parse(run.out)
    if not result then
        slot.error = ("%s (exit code %d%s): %s"):format(reason, run.code, run.timed_out and ", timed out" or "",
            run.err:sub(1, 300))
        return slot
    end
    local difference = sample.difference(before, after)
    slot.exit_code = run.code
    slot.elapsed_s = result.elapsed_s
    slot.ok_per_s = result.ok_per_s
    slot.client = result
    slot.started_s = result.started_at_unix_s or slot.started_s
    keep_raw(slot, result, run.out, options.scratch)
    slot.resources = resources(difference, result.requests.ok, records, slot.started_s)
    slot.tcp_ext = difference.tcp_ext
    slot.throttled = limits.throttled(held_back, limits.counters())
    return slot
end

--- Counts <cpu_s> more seconds of processor time as the servers' of <slot>.
function measure.add_server_cpu(slot, cpu_s)
    local used, ok = slot.resources, slot.client.requests.ok
    used.server_cpu_s = used.server_cpu_s + cpu_s
    used.server_cpu_us_per_request = ok > 0 and used.server_cpu_s / ok * 1e6 or nil
end

--- A body of <count> bytes for requests: the alphabet over and over.
function measure.body(count)
    return ("abcdefghijklmnopqrstuvwxyz"):rep(math.ceil(count / 26)):sub(1, count)
end

--- Looks at a page once, with <body> by a POST: {ok, status, bytes, type, problems = list of texts, body}. <expect> is the
-- comparison's: status, bytes, body, starts, type, encoding.
function measure.verify(handle, path, expect, headers, body)
    local extra = headers and #headers > 0 and table.concat(headers, "\r\n") .. "\r\n" or nil
    local answer, reason = http.get(handle.url, path, 10, extra, body)
    if not answer then
        return { ok = false, problems = { "no answer: " .. tostring(reason) } }
    end
    local seen = {
        status = answer.status,
        bytes = #answer.body,
        type = answer.headers["content-type"],
        encoding = answer.headers["content-encoding"],
        problems = {},
    }
    local function want(condition, ...)
        if not condition then
            seen.problems[#seen.problems + 1] = string.format(...)
        end
    end
    want(answer.status == (expect.status or 200), "status %s instead of %d", tostring(answer.status), expect.status or 200)
    want(not expect.bytes or #answer.body == expect.bytes, "%d bytes instead of %d", #answer.body, expect.bytes or 0)
    want(not expect.body or answer.body == expect.body, "body %q instead of %q", answer.body:sub(1, 60), expect.body or "")
    want(not expect.starts or answer.body:sub(1, #expect.starts) == expect.starts, "body begins %q", answer.body:sub(1, 60))
    want(not expect.type or (seen.type or ""):find(expect.type, 1, true), "type %s instead of %s", tostring(seen.type),
        expect.type or "")
    want(not expect.encoding or seen.encoding == expect.encoding, "encoding %s instead of %s", tostring(seen.encoding),
        expect.encoding or "")
    seen.ok = #seen.problems == 0
    return seen
end

return measure
