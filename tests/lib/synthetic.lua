-- SPDX-License-Identifier: MIT
--
-- Results of a run that never took place: the shipped documents with made-up rates, for tests of
-- what is computed and rendered from results. The same every time. Needs bench/suite on the path.

local judge = require("bench.suite.analysis.judge")
local plan = require("bench.suite.run.plan")
local results = require("bench.suite.report.results")

local synthetic = {}

-- A small linear congruential generator (Numerical Recipes' constants): 0 <= x < 1.
local function generator(seed)
    local state = seed
    return function()
        state = (state * 1664525 + 1013904223) % 4294967296
        return state / 4294967296
    end
end

-- About normal, mean 0 and deviation 1: the sum of twelve uniform values less six.
local function normal(random)
    local sum = -6
    for _ = 1, 12 do
        sum = sum + random()
    end
    return sum
end

synthetic.generator, synthetic.normal = generator, normal

-- Rates that look like those of a small machine; what is not listed gets 5,000.
local RATES = {
    ["apache-mod-php"] = 2900, ["nginx-node-fastcgi"] = 3100, ["nginx-fcgi-lua"] = 11500, ["nginx-fcgi-c"] = 12600,
    ["nginx-php-fpm"] = 5800, ["node-cluster"] = 7400, ["nginx-lua"] = 17400, ["nginx-floor"] = 13000, ["nginx-return"] = 19200,
    ["nginx-uwsgi"] = 1450, ["lighttpd-uwsgi"] = 1230, ["lighttpd-fcgi"] = 9200, ["apache-static"] = 6100, ["nginx-static"] = 17000,
    ["nginx-php-cgi"] = 4700, ["nginx-fcgiwrap"] = 410, ["nginx-php-proxy"] = 3300, ["nginx-lua-proxy"] = 9800,
        ["nginx-fcgi-proxy"] = 8700,
}

local NINES = { p50 = 0.5, p75 = 0.75, p90 = 0.9, p95 = 0.95, p99 = 0.99, p999 = 0.999 }

local function latencies(mean_us, quantile)
    local list = { min = mean_us * 0.3, mean = mean_us, max = mean_us * 9, count = 10000 }
    for name, q in pairs(quantile) do
        list[name] = mean_us * (0.62 + 0.25 * (-math.log10(1 - q)) ^ 1.6)
    end
    return list
end

-- One slot of a stack that answers <rate> per second.
local function slot(round, rate, started_s, connections, random)
    local elapsed_s, ok = 1, math.floor(rate)
    local server_s, client_s = ok * 1.35 / 17400 * (17400 / rate) ^ 0.6, ok * 18e-6
    local front_s, series = server_s * 0.4, {}
    for i = 1, 8 do
        local share = 0.85 + 0.3 * random()
        series[i] = { from_s = (i - 1) / 8, at_s = i / 8, cpu = { nginx = math.min(1, front_s * share), application = math.min(1,
            (server_s - front_s) * share) }, network_bytes_per_s = ok * 800 }
    end
    local function group(seconds, processes)
        return { processes = processes, cpu_s = seconds, user_s = seconds * 0.6, system_s = seconds * 0.4,
            voluntary_switches = ok, involuntary_switches = ok / 10 }
    end
    local mean_us = connections / rate * 1e6
    return {
        round = round, started_s = started_s, elapsed_s = elapsed_s, ok_per_s = rate, load_before = 0.7, foreign_cpus = 0.02,
        argv = { "build/load-client", "-f", "json", "-c", tostring(connections), "-d", "1000ms", "http://127.0.0.1:34567/" },
        tcp_ext = {},
        client = {
            connections = connections, elapsed_s = elapsed_s, ok_per_s = rate, client_cpu_s = client_s, verdict = "valid", reasons = {},
            requests = { started = ok, ok = ok, failed = 0, in_flight = 0 }, failures = { status = 0, length = 0, timeout = 0 },
            status = { ["2xx"] = ok }, bytes = { received = ok * 190, body = ok * 12 },
            response_us = latencies(mean_us, NINES), service_us = latencies(mean_us, NINES), connect_us = latencies(mean_us / 8, NINES),
        },
        resources = { groups = { nginx = group(front_s, 2), application = group(server_s - front_s, 4) }, server_cpu_s = server_s,
            server_cpu_us_per_request = server_s / ok * 1e6, loopback_bytes = ok * 800, sampler_cpu_s = 0.004, series = series,
                queues = {} },
    }
end

local function comparison(step, random, cpus, noise)
    local own = step.comparison
    local record = { kind = "comparison", name = own.name, title = own.title, about = own.about, page = own.page, load = own.load,
        expect = own.expect, published_claims = own.claims, slot_s = step.slot_s or 1, slot_requests = step.requests, timeout_s = 10,
        rounds = step.rounds, rounds_planned = step.rounds, arms = {}, complete = true }
    for i, planned in ipairs(step.arms) do
        record.arms[i] = { key = planned.key, label = planned.label, stack = planned.stack, url = planned.url, variant = planned.variant,
            options = planned.options, published = planned.published, reference = planned.reference, blocking = planned.blocking,
            state = "measured", slots = {},
            title = planned.label, children = 4, commands = { "nginx -p /tmp/s" }, configurations = { { name = "nginx.conf",
                text = "worker_processes 1;\n" } }, why = { "a reason" }, causes = {}, warmup = { discarded_s = 0.9, steady = true },
            memory = { nginx = { pss_kib = 5200 }, application = { pss_kib = 9100 } }, verified = { ok = true } }
    end
    local now = 1767225600
    for round = 1, step.rounds do
        local order = {}
        for i = 1, #record.arms do
            order[i] = { index = i }
        end
        order[#order + 1] = { index = 1, twin = true }
        for position, item in ipairs(plan.shuffled(order, function(n)
            return math.floor(random() * n) + 1
        end)) do
            local arm = record.arms[item.index]
            local rate = (RATES[arm.label] or 5000) * (arm.variant == "tuned" and 1.3 or 1) * math.exp(noise * normal(random))
            if own.load.wait_s then
                rate = math.min(rate, 400)
            end
            local new = slot(round, rate, now, own.load.connections, random)
            new.position, new.twin = position, item.twin
            arm.slots[#arm.slots + 1] = new
            now = now + 1.15
        end
    end
    return judge.comparison(record, cpus)
end

local function programs(step, random)
    local record = { kind = "programs", name = step.programs.name, title = step.programs.title, reading = step.programs.reading,
        rounds = step.rounds, rounds_planned = step.rounds, complete = true, cells = {}, pairs = {} }
    for _, row in ipairs(step.programs.rows) do
        for _, interpreter in ipairs(step.programs.interpreters) do
            local published = (step.programs.published[row.program] or {})[interpreter.name]
            local function time(scale)
                local value = scale * (0.2 + 0.6 * random())
                return { median = value, low = value * 0.95, high = value * 1.05 }
            end
            record.cells[#record.cells + 1] = { program = row.program, title = interpreter.title, interpreter = interpreter.name,
                argv = { interpreter.command[1], row.program }, real_s = time(1), user_s = time(0.7), system_s = time(0.2), runs = {},
                published_name = step.programs.published_names[interpreter.name],
                published = published and { real_s = published[1], user_s = published[2], system_s = published[3] } }
        end
    end
    return record
end

--- Results of all steps of <documents> (loaded by bench.suite.run.documents). options: noise (deviation
-- of the logarithm of a rate, default 0.02), seed, rounds (of every comparison).
function synthetic.results(documents, options)
    options = options or {}
    local random, cpus = generator(options.seed or 1), 2
    local the_plan = plan.build(documents, "default")
    local record = { schema = results.schema, started = "2026-01-01T00:00:00Z", finished = "2026-01-01T00:07:00Z", elapsed_s = 420,
        profile = "default", planned_s = the_plan.seconds, slot_s = 1, complete = true, seed = 1, marks = {}, documents = {},
        command = "bench/bench run", machine = { cpu = "Example processor", cpus = cpus, memory_mib = 8000, kernel = "Linux 6.1",
            system = "Debian GNU/Linux 12 (bookworm)", load_average = 0.1, settings = { somaxconn = "4096" },
                versions = { nginx = "1.22.1" } } }
    local by_name = {}
    for _, step in ipairs(the_plan.steps) do
        local document = by_name[step.document.name]
        if not document then
            document = { parts = {} }
            for _, field in ipairs({ "name", "title", "year", "question", "setting", "reading", "today", "advice", "across" }) do
                document[field] = step.document[field]
            end
            by_name[document.name], record.documents[#record.documents + 1] = document, document
        end
        if step.kind == "comparison" then
            step.rounds = options.rounds or step.rounds
            document.parts[#document.parts + 1] = comparison(step, random, cpus, options.noise or 0.02)
        elseif step.kind == "programs" then
            document.parts[#document.parts + 1] = programs(step, random)
        else
            document.parts[#document.parts + 1] = { kind = "experiment", name = step.name, title = "Provoked: " .. step.name,
                about = "About `" .. step.name .. "`.", trials = {}, conclusions = { "Seen: 3 of 4 failed.", "Cause: a full queue." },
                    complete = true }
        end
    end
    return record
end

return synthetic
