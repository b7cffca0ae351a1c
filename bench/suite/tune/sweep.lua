-- SPDX-License-Identifier: MIT
--
-- One point of a sweep (a pool with a count under a load) and the row that the points of a count
-- make up. The measuring part starts programs; row() and load_for() are pure.

local classify = require("bench.suite.analysis.classify")
local files = require("bench.suite.system.files")
local machine = require("bench.suite.system.machine")
local measure = require("bench.suite.measurement.measure")
local process = require("bench.suite.system.process")
local sock_diag = require("bench.suite.system.sock_diag")
local statistics = require("bench.suite.analysis.statistics")

local sweep = {}

-- From this response time on a point is a number of requests and not a time: a timed run of a page
-- that takes 400 ms would count whole batches of answers and be wrong by one of them.
local SLOW_S = 0.05
local BATCHES_MIN = 4
local FAILED_LIMIT = 0.001
local CLIENT_BUSY = 0.9
local WARM_UP_S, DRAIN_S = 0.2, 1
-- Waiting below this cannot be told from the scheduler's own delays.
local WAIT_LIMIT_S = 1e-3

--- The load of a point: <target> {connections, rate_per_s, keep_alive, threads, seconds}, and the
-- page's unloaded response time in seconds. For slow pages in a closed loop the requests are whole
-- batches of what the pool does at a time, at least four.
function sweep.load_for(children, target, response_s)
    local load = {
        connections = target.connections,
        keep_alive = target.keep_alive,
        threads = target.threads,
        rate_per_s = target.rate_per_s,
        expect = target.expect,
        script_filename = target.script_filename,
        timeout_s = 60,
    }
    if response_s < SLOW_S then
        load.seconds = target.seconds
    elseif target.rate_per_s then
        load.seconds = math.max(target.seconds, 10 * response_s)
    else
        local batches = math.max(BATCHES_MIN, math.ceil(target.seconds / response_s))
        load.requests = batches * math.min(children, target.connections)
        load.expected_s = 2 * batches * response_s
    end
    return load
end

--- Seconds that a point takes, for the time left.
function sweep.seconds(target, response_s)
    if response_s < SLOW_S then
        return target.seconds + WARM_UP_S
    elseif target.rate_per_s then
        return math.max(target.seconds, 10 * response_s)
    end
    return math.max(BATCHES_MIN, math.ceil(target.seconds / response_s)) * response_s
end

-- Text that the logs of the pool gained since the sizes in <before> (path -> bytes).
local function new_log_text(logs, before)
    local found = {}
    for name, path in pairs(logs or {}) do
        if name ~= "access_log" then
            local text = files.read(path) or ""
            found[name] = text:sub((before[path] or 0) + 1)
        end
    end
    return found
end

local function log_sizes(logs)
    local sizes = {}
    for _, path in pairs(logs or {}) do
        sizes[path] = #(files.read(path) or "")
    end
    return sizes
end

-- Loads the pool for a moment and waits until what that left in its listen queue is gone.
local function warm_up(pool, target, session)
    local load = { connections = target.connections, keep_alive = target.keep_alive, seconds = WARM_UP_S,
        expect = target.expect, threads = target.threads, script_filename = target.script_filename }
    process.run(measure.arguments(session.client, pool.handle.url .. pool.page, load), { timeout_s = 20 })
    local reader, queue = sock_diag.open(), measure.queue_address(pool.handle)
    local deadline = process.now() + DRAIN_S
    while reader and queue and process.now() < deadline do
        local seen = reader:read()[sock_diag.key(queue) or ""]
        if not seen or seen.waiting == 0 then
            break
        end
        process.sleep(0.01)
    end
    if reader then
        reader:close()
    end
end

-- Figures of one slot by group: processors kept busy, and CPU time per good answer. "other" is what
-- the rest of the machine used meanwhile.
local function cpu_of(slot, machine_busy)
    local client, busy, per_request = slot.client, {}, {}
    local ok, elapsed_s = client.requests.ok, client.elapsed_s
    local function add(name, cpu_s)
        busy[name] = elapsed_s > 0 and cpu_s / elapsed_s or 0
        per_request[name] = ok > 0 and cpu_s / ok * 1e6 or nil
    end
    for name, group in pairs(slot.resources.groups) do
        add(name, group.cpu_s)
    end
    add("client", client.client_cpu_s or 0)
    if machine_busy and elapsed_s > 0 then
        local ours = slot.resources.sampler_cpu_s / elapsed_s
        for _, share in pairs(busy) do
            ours = ours + share
        end
        busy.other = math.max(0, machine_busy - ours)
    end
    return busy, per_request
end

local function queue_named(queues, name)
    for _, queue in ipairs(queues or {}) do
        if queue.name == name then
            return queue
        end
    end
end

-- Right answers per second. In an open loop no answer can come before the page's own time has passed,
-- which would make a short run look as if the pool did not keep up.
local function rate_of(client, target, response_s)
    if target.rate_per_s and client.elapsed_s > 2 * response_s then
        return client.requests.ok / (client.elapsed_s - response_s)
    end
    return client.ok_per_s
end

-- A point from a slot, cut down to what the row needs.
local function summarise(slot, pool, children, logs, machine_busy)
    local client, resources = slot.client, slot.resources
    local group = resources.groups.pool
    local busy, per_request = cpu_of(slot, machine_busy)
    local queue = queue_named(resources.queues, "pool") or {}
    local ok = math.max(1, client.requests.ok)
    local memory = group.pss_each and statistics.percentile(group.pss_each, 0.95)
    return {
        children = children,
        running = #pool:workers(),
        ended = pool:ended(),
        started_by = pool.started_by,
        ok_per_s = client.ok_per_s,
        requests = client.requests,
        failures = client.failures,
        status = client.status,
        response_us = client.response_us,
        elapsed_s = client.elapsed_s,
        busy = busy,
        cpu_us = per_request,
        voluntary = group.voluntary_switches / ok,
        involuntary = group.involuntary_switches / ok,
        queue_max = queue.max,
        backlog = queue.backlog,
        drops = (slot.tcp_ext or {}).ListenDrops or 0,
        respawns = group.started_processes,
        throttled = slot.throttled,
        pss_kib = group.pss_kib,
        pss_p95_kib = memory and memory.value,
        client_busiest = client.client_busiest_thread,
        client_verdict = client.verdict,
        client_reasons = client.reasons,
        causes = classify.causes({ logs = logs, log_texts = pool.log_texts, tcp_ext = slot.tcp_ext, client = client,
            queues = queue.max and { queue } or nil,
            pool = { children = children, front_workers = pool.front_workers, keepalive = pool.keepalive,
                blocks_on_kept = pool.blocks, respawns = group.started_processes } }),
        _raw = slot._raw,
    }
end

--- Measures one point: the pool with <children> under the target's load. <base>: {response_s}.
-- <session>: {client, scratch, tick}. Returns the point, or {children, error}.
function sweep.point(pool, children, target, base, session)
    local ok, reason = pool:start(children)
    if not ok then
        return { children = children, error = reason }
    end
    if base.response_s < SLOW_S then
        warm_up(pool, target, session)
    end
    local sizes = log_sizes(pool.logs)
    local load = sweep.load_for(children, target, base.response_s)
    local before, began = machine.cpu_times(), process.now()
    local slot = measure.slot(pool.handle, pool.page, load, {
        client = session.client, scratch = session.scratch, tick = session.tick, memory = true,
    })
    local after = machine.cpu_times()
    if slot.error then
        return { children = children, error = slot.error }
    end
    local point = summarise(slot, pool, children, new_log_text(pool.logs, sizes),
        before and after and (after.busy_s - before.busy_s) / (process.now() - began))
    point.ok_per_s = rate_of(slot.client, target, base.response_s)
    return point
end

--- What the page needs without load: one client, alternately a request and its answer.
-- {response_s (median; mean of three for a slow page), wait_s, cpu_us by group, bytes, status}; nil and a reason.
function sweep.base(pool, target, session)
    local alone = { connections = 1, keep_alive = target.keep_alive, requests = 3, expect = target.expect, timeout_s = 60,
        script_filename = target.script_filename }
    local options = { client = session.client, scratch = session.scratch, tick = session.tick }
    local slot = measure.slot(pool.handle, pool.page, alone, options)
    if slot.client and slot.client.requests.ok > 0 and slot.client.response_us.min < SLOW_S * 1e6 then
        alone.requests = nil
        alone.seconds = math.min(0.5, target.seconds)
        slot = measure.slot(pool.handle, pool.page, alone, options)
    end
    if slot.error then
        return nil, slot.error
    elseif slot.client.requests.ok == 0 then
        return nil, ("%s does not answer as expected: %s"):format(pool.page, slot.client.examples
            and select(2, next(slot.client.examples)) or "no reason given")
    end
    local _, per_request = cpu_of(slot)
    local response_s, cpu_s = (slot.client.response_us.p50 or slot.client.response_us.mean) / 1e6, 0
    for _, us in pairs(per_request) do
        cpu_s = cpu_s + us / 1e6
    end
    local wait_s = response_s - cpu_s
    return { response_s = response_s, wait_s = wait_s >= WAIT_LIMIT_S and wait_s or 0, cpu_us = per_request,
        bytes = slot.client.document_length }
end

-- Why a point may not be used: a flaw's name and a text, nil when it may.
local function flaw_of(point)
    if point.error then
        return "failures", point.error
    elseif point.running ~= point.children then
        return "count", ("%d asked, %d run: %s"):format(point.children, point.running, point.ended
            or "{children} must fix the number (php-fpm: pm = static)")
    elseif (point.client_busiest or 0) >= CLIENT_BUSY then
        return "client", ("client at %.0f %% of a core"):format(point.client_busiest * 100)
    elseif point.requests.failed > FAILED_LIMIT * point.requests.started then
        local cause = point.causes[1]
        return "failures", ("%.1f %% failed%s"):format(point.requests.failed / point.requests.started * 100,
            cause and ": " .. cause.cause or "")
    elseif (point.busy.pool or 0) <= 0 and point.requests.ok > 0 then
        return "pool", "the answers are not from this pool: it used no CPU"
    end
end

local function mean_of(points, pick)
    local list = {}
    for _, point in ipairs(points) do
        local value = pick(point)
        list[#list + 1] = value
    end
    return statistics.mean(list)
end

local function largest_of(points, pick)
    local most
    for _, point in ipairs(points) do
        local value = pick(point)
        most = value and math.max(most or value, value) or most
    end
    return most
end

local function by_name(points, field)
    local names, means = {}, {}
    for _, point in ipairs(points) do
        for name in pairs(point[field] or {}) do
            names[name] = true
        end
    end
    for name in pairs(names) do
        means[name] = mean_of(points, function(point)
            return (point[field] or {})[name]
        end)
    end
    return means
end

local function summed(points, field)
    local sums = {}
    for _, point in ipairs(points) do
        for kind, count in pairs(point[field] or {}) do
            if count > 0 then
                sums[kind] = (sums[kind] or 0) + count
            end
        end
    end
    return sums
end

-- Response times of a row: from the merged histograms where there are, else the median round. With
-- too few answers for a p99 the longest stands for it (few). When a point had too few requests to
-- queue up all clients, Little's law says what they would wait (by_little).
local function response_of(good, merged, target, rate)
    local response = merged and merged.response_us
    if not response then
        response = {}
        for _, name in ipairs({ "p50", "p99", "max" }) do
            local list = {}
            for _, point in ipairs(good) do
                list[#list + 1] = (point.response_us or {})[name]
            end
            response[name] = statistics.median(list)
        end
    end
    local result = { p50 = response.p50, p99 = response.p99 or response.max, max = response.max }
    result.few = not response.p99
    local started = mean_of(good, function(point)
        return point.requests.started
    end)
    if not target.rate_per_s and started and started < 3 * target.connections and rate then
        local waiting_us = target.connections / rate.mean * 1e6
        result.p50 = math.max(result.p50 or 0, waiting_us)
        result.p99 = math.max(result.p99 or 0, waiting_us)
        result.by_little = true
    end
    return result
end

--- The row of a count from its points, one for each round (points[round]; missing ones are nil).
-- <rounds>: how many rounds there are so far. <merged>: the merged result of the load client or nil.
function sweep.row(children, points, rounds, target, merged)
    local list, good, rates, flaw, text = {}, {}, {}, nil, nil
    for round = 1, rounds do
        local point = points[round]
        if point then
            list[#list + 1] = point
            local name, why = flaw_of(point)
            if name then
                flaw, text = name, why
            else
                good[#good + 1], rates[round] = point, point.ok_per_s
            end
        end
    end
    -- One bad round of several is reported and left out; a count that fails more often is flawed.
    local bad = #list - #good
    local row = { children = children, points = list, rounds = rounds, rates = rates, measured = #list,
        flaw = bad * 2 >= #list and flaw or nil }
    local values = {}
    for _, point in ipairs(good) do
        values[#values + 1] = point.ok_per_s
    end
    row.rate = statistics.interval(values)
    row.verdict = row.flaw and text or (bad > 0 and ("%d of %d rounds left out: %s"):format(bad, #list, text)) or "ok"
    local shown = #good > 0 and good or list
    row.response_us = #good > 0 and response_of(good, merged, target, row.rate) or {}
    row.p99_us = row.response_us.p99
    row.failures, row.status = summed(list, "failures"), summed(list, "status")
    row.cpu, row.cpu_us = by_name(shown, "busy"), by_name(shown, "cpu_us")
    for _, field in ipairs({ "voluntary", "involuntary", "pss_kib", "pss_p95_kib" }) do
        row[field] = mean_of(shown, function(point)
            return point[field]
        end)
    end
    for _, field in ipairs({ "queue_max", "backlog", "drops", "respawns", "client_busiest" }) do
        row[field] = largest_of(list, function(point)
            return point[field]
        end)
    end
    row.running = shown[1] and shown[1].running
    row.achieved = target.rate_per_s and row.rate and row.rate.mean / target.rate_per_s
    row.causes = {}
    for _, point in ipairs(list) do
        for _, cause in ipairs(point.causes or {}) do
            row.causes[cause.cause] = cause
        end
    end
    return row
end

return sweep
