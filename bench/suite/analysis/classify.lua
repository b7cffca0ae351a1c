-- SPDX-License-Identifier: MIT
--
-- From evidence to named causes: nginx and pool logs, kernel counters, listen queues, the load
-- client's failures and the pool's status become a list of {cause, evidence, remedy}. Pure.
--
-- Sources of the log texts: nginx 1.22 (src/event/ngx_event_connect.c, src/http/ngx_http_upstream.c,
-- src/http/modules/ngx_http_fastcgi_module.c) and php-fpm 8.2 (sapi/fpm/fpm/fpm_process_ctl.c).

local classify = {}

-- What each cause is called and what helps. `weight` orders the list: what explains most comes first.
local CAUSES = {
    accept_queue_full = { 100,
        "the pool's accept queue was full (unix socket: refused at once, 502)",
        "more children if the CPU is idle, or a larger backlog (and net.core.somaxconn, which caps it)" },
    accept_queue_overflow = { 98,
        "a TCP accept queue overflowed: connections wait for SYN retries of 1, 3 and 7 s",
        "a larger backlog on the listening side (nginx: listen ... backlog=; pool: its backlog; "
            .. "net.core.somaxconn caps both)" },
    syn_retries = { 96,
        "latency steps of 1, 3 or 7 s: connection attempts were dropped and tried again",
        "see the accept queue of the side that listens; keep connections alive" },
    nobody_listening = { 95,
        "nobody listens on the upstream address (stale socket file or dead pool)",
        "start the pool, or remove the stale socket file" },
    socket_missing = { 94,
        "the upstream's socket file does not exist",
        "start the pool before nginx gets load; compare the two paths" },
    socket_permission = { 94,
        "nginx may not connect to the upstream's socket",
        "socket mode or group: let nginx's user write to it" },
    children_starved = { 92,
        "requests waited until a time-out: connected into the backlog, no child took them",
        "more children; a kept-connection budget below the children of a pool that blocks on them "
            .. "(worker_processes x keepalive <= children)" },
    connect_timeout = { 91,
        "the upstream did not accept in time (TCP accept queue full or host gone)",
        "a larger backlog or more children; check the address" },
    child_died = { 90,
        "a child closed the connection before it had answered: crash, kill, or time limit",
        "read the pool's log for the signal or limit; a core file or the slow log shows where" },
    connection_reset = { 85,
        "the pool reset a connection that was in use (kept connection closed by recycling, or unread data)",
        "align keepalive_requests with the pool's max-requests; let the pool read the whole body" },
    incomplete_answer = { 84,
        "a handler ended without a complete answer",
        "fix the handler: header, blank line, as many bytes as announced" },
    wrong_protocol = { 83,
        "the upstream does not speak FastCGI on that address, or a kept connection lost step",
        "version 72 is an HTTP server, 83 a plain CGI text; otherwise turn fastcgi_keep_conn off for "
            .. "this pool" },
    header_too_big = { 82,
        "an answer's header did not fit nginx's buffer",
        "a larger fastcgi_buffer_size, or a smaller header" },
    invalid_header = { 81,
        "an answer's header was malformed",
        "fix the handler's header lines" },
    no_live_upstreams = { 80,
        "nginx had taken all upstream servers out of service after failures",
        "look at the first failures; max_fails=0 keeps a lone server in service" },
    worker_connections = { 79,
        "nginx ran out of worker_connections",
        "a larger worker_connections: each request through a pool takes two" },
    open_files = { 78,
        "a process ran out of descriptors",
        "raise the limit (ulimit -n, worker_rlimit_nofile, LimitNOFILE=)" },
    port_exhaustion = { 77,
        "the client ran out of local ports (closed connections stay in TIME_WAIT for 60 s)",
        "keep connections alive, a unix socket, a wider ip_local_port_range, or several source addresses" },
    children_all_busy = { 76,
        "the pool reached its configured number of children",
        "more children if CPU and memory allow; see the tuning page" },
    error_pages = { 75,
        "error pages were answered; a client that does not look counts them as throughput",
        "judge by correct answers per second only; the other causes say why the pages were errors" },
    wrong_bodies = { 74,
        "answers with status 2xx had another body than the verified one",
        "compare the page with the reference body; a page of varying content needs a looser check, then "
            .. "these are no failures" },
    client_time_out = { 73,
        "the client gave up waiting",
        "see the queue and the children; compare with (clients / children) x service time" },
    client_saturated = { 72,
        "the load client was the limit, not the server",
        "more client threads, another machine, or a lower rate" },
    blocking_ceiling = { 60,
        "every child was busy waiting: the rate is children / time per request",
        "more children, or handlers that wait without holding a child" },
    keepalive_pinning = { 58,
        "idle kept connections may hold all children of a pool that serves one connection per child",
        "worker_processes x keepalive <= children - 1, or no kept connections to this pool" },
    backlog_capped = { 55,
        "the kernel cut the backlog to net.core.somaxconn",
        "raise net.core.somaxconn, or ask for less" },
    queueing = { 40,
        "connections waited in the listen queue",
        "expected when clients exceed children; more children if the CPU is idle" },
    children_respawned = { 39,
        "children were replaced during the run",
        "read the pool's log: crash, limit or max-requests" },
    temporary_files = { 20,
        "nginx wrote answers to temporary files",
        "larger fastcgi_buffers, or fastcgi_max_temp_file_size 0" },
    handler_errors = { 19,
        "handlers wrote to the error stream",
        "read the text in the error log" },
    client_aborted = { 10,
        "clients closed before the answer",
        "usual at the end of a timed run" },
}

-- One row per log text: a plain piece that must occur, an optional second one, the cause.
local LOG_TEXTS = {
    { "failed (11: Resource temporarily unavailable)", "while connecting to upstream", "accept_queue_full" },
    { "failed (2: No such file or directory)", "while connecting to upstream", "socket_missing" },
    { "failed (13: Permission denied)", "while connecting to upstream", "socket_permission" },
    { "failed (111: Connection refused)", "while connecting to upstream", "nobody_listening" },
    { "upstream timed out", "while connecting to upstream", "connect_timeout" },
    { "upstream timed out", nil, "children_starved" },
    { "upstream prematurely closed connection", nil, "child_died" },
    { "prematurely closed FastCGI", nil, "incomplete_answer" },
    { "(104: Connection reset by peer)", "upstream", "connection_reset" },
    { "(32: Broken pipe)", "upstream", "connection_reset" },
    { "upstream sent unsupported FastCGI protocol version", nil, "wrong_protocol" },
    { "upstream sent invalid FastCGI record type", nil, "wrong_protocol" },
    { "upstream sent unexpected FastCGI", nil, "wrong_protocol" },
    { "upstream sent too big header", nil, "header_too_big" },
    { "upstream sent invalid header", nil, "invalid_header" },
    { "upstream sent invalid status", nil, "invalid_header" },
    { "upstream sent duplicate header line", nil, "invalid_header" },
    { "upstream sent more data than specified", nil, "incomplete_answer" },
    { "no live upstreams", nil, "no_live_upstreams" },
    { "worker_connections are not enough", nil, "worker_connections" },
    { "(24: Too many open files)", nil, "open_files" },
    { "is buffered to a temporary file", nil, "temporary_files" },
    { "FastCGI sent in stderr", nil, "handler_errors" },
    { "client prematurely closed connection", nil, "client_aborted" },
    { "server reached pm.max_children setting", nil, "children_all_busy" },
    { "seems busy (you may need to increase", nil, "children_all_busy" },
    { "execution timed out", "terminating", "child_died" },
    { "exited on signal", nil, "child_died" },
}

--- The cause behind one log line, nil when it is not known. <own>: rows {text, second text or false,
-- cause} that a stack brings for its programs; they are asked first.
function classify.line(line, own)
    for _, rows in ipairs({ own or {}, LOG_TEXTS }) do
        for _, row in ipairs(rows) do
            if line:find(row[1], 1, true) and (not row[2] or line:find(row[2], 1, true)) then
                return row[3]
            end
        end
    end
    return nil
end

--- Is <name> a cause, as a stack's log texts may name it?
function classify.known(name)
    return CAUSES[name] ~= nil
end

local SERIOUS = { error = true, crit = true, alert = true, emerg = true }

--- Counts the lines of <text> by cause: {cause = {count, first}}; first is the first such line,
-- cut to 240 bytes. Lines of unknown kind at level error or above are counted under "unknown".
-- <own>: see classify.line.
function classify.log(text, own)
    local found = {}
    for line in text:gmatch("[^\r\n]+") do
        local cause = classify.line(line, own)
        if not cause and SERIOUS[line:match("%[(%l+)%]") or ""] then
            cause = "unknown"
        end
        if cause then
            local entry = found[cause] or { count = 0, first = line:sub(1, 240) }
            entry.count = entry.count + 1
            found[cause] = entry
        end
    end
    return found
end

--- What a rate of finished answers hides: {finished, errors, ok, finished_per_s, ok_per_s}, from
-- the load client's result. finished is what ab prints as "Complete requests".
function classify.throughput(client)
    local status, ok = client.status or {}, client.requests.ok
    local errors = (status["3xx"] or 0) + (status["4xx"] or 0) + (status["5xx"] or 0)
    local finished = ok + errors + ((client.failures or {}).length or 0) + ((client.failures or {}).body or 0)
    return {
        finished = finished,
        errors = errors,
        ok = ok,
        finished_per_s = finished / client.elapsed_s,
        ok_per_s = client.ok_per_s,
    }
end

-- Each rule looks at one kind of evidence and reports through add(cause, text of the evidence).
local rules = {}

function rules.logs(evidence, add)
    for _, text in pairs(evidence.logs or {}) do
        for cause, entry in pairs(classify.log(text, evidence.log_texts)) do
            if CAUSES[cause] then
                add(cause, ("%d log lines, the first: %s"):format(entry.count, entry.first), entry.count)
            end
        end
    end
end

function rules.kernel(evidence, add)
    local counters = evidence.tcp_ext or {}
    local overflows, drops = counters.ListenOverflows or 0, counters.ListenDrops or 0
    if overflows > 0 or drops > 0 then
        add("accept_queue_overflow", ("TcpExt ListenOverflows +%d, ListenDrops +%d"):format(overflows,
            drops), drops)
    end
end

function rules.queues(evidence, add)
    for _, queue in ipairs(evidence.queues or {}) do
        local max, backlog = queue.max or 0, queue.backlog or 0
        if backlog > 0 and max >= backlog then
            add("accept_queue_full", ("%s: the listen queue was full (%d of %d)"):format(queue.name, max,
                backlog), max)
        elseif max > 0 then
            add("queueing", ("%s: up to %d connections waited (of %d places)"):format(queue.name, max,
                backlog), max)
        end
        if queue.asked and backlog > 0 and queue.asked > backlog then
            add("backlog_capped", ("%s: asked %d, got %d"):format(queue.name, queue.asked, backlog))
        end
    end
end

-- Failure kinds of the load client that stand for one cause each; the others are symptoms.
local CLIENT_FAILURES = { timeout = "client_time_out", length = "wrong_bodies", body = "wrong_bodies" }

-- Pieces of the load client's own reasons (bench/load-client/report/verdict.c) and what they stand for.
local CLIENT_REASONS = {
    { "local ports ran out", "port_exhaustion" },
    { "descriptors ran out", "open_files" },
    { "busiest thread", "client_saturated" },
    { "client's own lateness", "client_saturated" },
    { "listen queue was full", "accept_queue_full" },
    { "accepted but never served", "children_starved" },
}

function rules.client(evidence, add)
    local client = evidence.client
    if not client or not client.requests then
        return
    end
    for kind, cause in pairs(CLIENT_FAILURES) do
        local count = (client.failures or {})[kind] or 0
        if count > 0 then
            add(cause, ("%d of %d requests failed by %s"):format(count, client.requests.started, kind), count)
        end
    end
    local seen = classify.throughput(client)
    if seen.errors > 0 then
        add("error_pages", ("%d of %d answers were not 2xx: %.0f answers/s, of them %.0f correct"):format(
            seen.errors, seen.finished, seen.finished_per_s, seen.ok_per_s), seen.errors)
    end
    for _, reason in ipairs(client.reasons or {}) do
        for _, row in ipairs(CLIENT_REASONS) do
            if reason:find(row[1], 1, true) then
                add(row[2], reason)
                break
            end
        end
    end
end

-- SYN retries leave connect times just above 1, 3 or 7 s (the first retry after 1 s, then doubled).
local SYN_STEPS_S = { 1, 3, 7, 15 }

function rules.syn_steps(evidence, add)
    local client = evidence.client
    local worst_us = client and client.connect_us and client.connect_us.max
    for _, step in ipairs(worst_us and SYN_STEPS_S or {}) do
        local s = worst_us / 1e6
        if s >= step - 0.02 and s <= step + 0.25 then
            add("syn_retries", ("the longest connect took %.2f s"):format(s))
        end
    end
end

-- The ceiling of a pool that holds a child per request: X = children / (service + wait).
function rules.ceiling(evidence, add)
    local pool, client = evidence.pool or {}, evidence.client
    if not (client and client.ok_per_s and pool.children and pool.seconds_per_request) then
        return
    end
    local bound = pool.children / pool.seconds_per_request
    if client.connections > pool.children and math.abs(client.ok_per_s / bound - 1) <= 0.1 then
        add("blocking_ceiling", ("%d children / %.3f s = %.1f/s predicted, %.1f/s measured"):format(
            pool.children, pool.seconds_per_request, bound, client.ok_per_s))
    end
end

function rules.pool(evidence, add)
    local pool = evidence.pool or {}
    local pinned = (pool.front_workers or 0) * (pool.keepalive or 0)
    if pool.blocks_on_kept and pool.children and pinned > 0 and pinned >= pool.children then
        add("keepalive_pinning", ("%d workers x %d kept connections for %d children"):format(pool.front_workers,
            pool.keepalive, pool.children))
    end
    if (pool.respawns or 0) > 0 then
        add("children_respawned", ("%d children were replaced"):format(pool.respawns), pool.respawns)
    end
    local reached = (evidence.status or {})["max children reached"] or 0
    if reached > 0 then
        add("children_all_busy", ("status page: max children reached %d times"):format(reached), reached)
    end
end

--- All causes that the evidence supports, the weightiest first: a list of {cause, title, evidence,
-- remedy, count}. One entry per cause; evidence of several sources is joined by "; ".
-- <evidence>, every part optional:
--   logs    = {name = text of what was logged during the run (nginx error log, pool log)}
--   log_texts = a stack's own log texts (see classify.line)
--   tcp_ext = {counter = difference over the run} from /proc/net/netstat
--   queues  = list of {name, max, backlog (effective), asked}
--   client  = the load client's result, as its JSON names it
--   status  = the pool's status page, php-fpm's names
--   pool    = {children, seconds_per_request (alone, unloaded), keepalive, front_workers,
--              blocks_on_kept (one connection per child), respawns}
function classify.causes(evidence)
    local found, list = {}, {}
    local function add(cause, text, count)
        local entry = found[cause]
        if entry then
            entry.evidence = entry.evidence .. "; " .. text
            entry.count = math.max(entry.count, count or 0)
            return
        end
        entry = {
            cause = cause,
            title = CAUSES[cause][2],
            evidence = text,
            remedy = CAUSES[cause][3],
            count = count or 0,
        }
        found[cause], list[#list + 1] = entry, entry
    end
    for _, name in ipairs({ "logs", "kernel", "queues", "client", "syn_steps", "ceiling", "pool" }) do
        rules[name](evidence, add)
    end
    table.sort(list, function(a, b)
        local wa, wb = CAUSES[a.cause][1], CAUSES[b.cause][1]
        return wa > wb or (wa == wb and a.cause < b.cause)
    end)
    return list
end

return classify
