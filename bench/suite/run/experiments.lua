-- Artefacts provoked on purpose: each published oddity is brought about with the smallest set-up
-- that shows it, beside the same set-up without it, and its cause is named from evidence.

local arms = require("bench.suite.run.arms")
local classify = require("bench.suite.analysis.classify")
local comparison = require("bench.suite.run.comparison")
local evidence = require("bench.suite.measurement.evidence")
local interrupt = require("bench.suite.system.interrupt")
local measure = require("bench.suite.measurement.measure")
local process = require("bench.suite.system.process")

local experiments = {}

-- A trial is {label, stack, options, page or path, load, wait_s}: one stack, one slot. An
-- experiment has trials and conclude(trials), which returns lines of text from what was measured.
local catalogue = {}

local function per_s(value)
    return ("%.0f/s"):format(value or 0)
end

local function cause_of(trial, name)
    for _, cause in ipairs(trial.causes or {}) do
        if cause.cause == name then
            return cause
        end
    end
end

-- Answers of any status per second: what a client prints that does not look at them.
local function answers_per_s(trial)
    local client = trial.slot and trial.slot.client
    return client and classify.throughput(client).finished_per_s or 0
end

local function failed(trial)
    return trial.slot.client.requests.failed or 0
end

catalogue["error-pages"] = {
    title = "Error pages counted as throughput",
    about = "Apache + mod_php is asked for the greeting page and for a page that does not exist.",
    trials = {
        { label = "the page", stack = "apache-mod-php", options = { variant = "documented" }, page = "hello",
            load = { connections = 10, seconds = 1 } },
        { label = "a page that does not exist", stack = "apache-mod-php", options = { variant = "documented" },
            path = "/missing.php?name=john", load = { connections = 10, seconds = 1 } },
    },
    conclude = function(page, missing)
        return {
            ("The page: %s correct answers."):format(per_s(page.slot.ok_per_s)),
            ("The missing page: %s answers, %d of them not 2xx; correct answers: %d."):format(per_s(answers_per_s(missing)),
                failed(missing), missing.slot.client.requests.ok),
            "A client that divides answers by time prints both as \"Requests per second\". "
                .. "This is how a server that failed every request led the published table.",
        }
    end,
}

catalogue["length-failures"] = {
    title = "`Length` failures that are none",
    about = "A page of counters (here the server's status page) differs in length from answer to answer. "
        .. "ab takes the first answer as the measure and calls every other length a failure.",
    trials = {
        { label = "lengths must be equal", stack = "nginx-fcgi-c", options = { variant = "tuned" }, path = "/status",
            load = { connections = 4, requests = 400, strict_length = true } },
        { label = "lengths may differ", stack = "nginx-fcgi-c", options = { variant = "tuned" }, path = "/status",
            load = { connections = 4, requests = 400 } },
    },
    conclude = function(strict, loose)
        local failures = strict.slot.client.failures or {}
        return {
            ("Judged by the first answer: %d of %d fail (length %d, content %d), all with status 200."):format(failed(strict),
                strict.slot.client.requests.started, failures.length or 0, failures.body or 0),
            ("Judged by status: %d fail."):format(failed(loose)),
            "The published `Failed requests` of kind Length say nothing about the server; `Non-2xx responses` do.",
        }
    end,
}

catalogue["backlog-502"] = {
    title = "1,000 clients on a short listen queue",
    about = "Two php-cgi children under spawn-fcgi behind nginx, with room for 16 waiting connections, then for 2,048.",
    trials = {
        { label = "backlog 16", stack = "nginx-php-cgi",
            options = { variant = "tuned", children = 2, backlog = 16, keepalive = 0 },
            page = "hello", load = { connections = 1000, requests = 2000, timeout_s = 10 } },
        { label = "backlog 2048", stack = "nginx-php-cgi",
            options = { variant = "tuned", children = 2, backlog = 2048, keepalive = 0 },
            page = "hello", load = { connections = 1000, requests = 2000, timeout_s = 10 } },
    },
    conclude = function(short, long)
        local cause = cause_of(short, "accept_queue_full") or cause_of(short, "connect_timeout") or (short.causes or {})[1]
        return {
            ("Backlog 16: %d of %d requests failed (published: 482 of 2,000)."):format(failed(short),
                short.slot.client.requests.started),
            ("Backlog 2048: %d failed. Nothing else was changed."):format(failed(long)),
            cause and ("Cause: %s. Evidence: %s"):format(cause.title, cause.evidence) or "No cause is named by the evidence.",
        }
    end,
}

catalogue["accept-queue"] = {
    title = "Maxima of 1, 3 and 9 seconds",
    about = "nginx-lua with a listen queue of 8 and 300 clients that open a connection for each request, then a queue of 4,096.",
    trials = {
        { label = "listen queue 8", stack = "nginx-lua", options = { variant = "documented", front_backlog = 8 }, page = "echo",
            load = { connections = 300, seconds = 4, timeout_s = 15 } },
        { label = "listen queue 4096", stack = "nginx-lua", options = { variant = "documented", front_backlog = 4096 }, page = "echo",
            load = { connections = 300, seconds = 4, timeout_s = 15 } },
    },
    conclude = function(short, long)
        local function worst(trial)
            return ((trial.slot.client.response_us or {}).max or 0) / 1e6
        end
        local counters = short.slot.tcp_ext or {}
        return {
            ("Queue of 8: the slowest answer took %.2f s; the kernel counted %d overflows and %d dropped connection attempts."):format(
                worst(short), counters.ListenOverflows or 0, counters.ListenDrops or 0),
            ("Queue of 4,096: the slowest answer took %.3f s."):format(worst(long)),
            "A dropped SYN is sent again after 1 s, then 2 s, then 4 s: hence 1, 3, 7 s (and 3, 9 s with the 3 s timer of 2013's kernels). "
                .. "The published maxima are the kernel's clock, not the server's.",
        }
    end,
}

catalogue["blocking-ceiling"] = {
    title = "The ceiling of a page that blocks",
    about = "The slow page (400 ms) under php-cgi: with 4 and 16 children, and with 4 children and a listen queue of 16.",
    trials = {
        { label = "4 children", stack = "nginx-php-cgi", options = { variant = "documented", children = 4, backlog = 1024 },
            page = "slow", wait_s = 0.4, load = { connections = 24, requests = 24, timeout_s = 20 } },
        { label = "16 children", stack = "nginx-php-cgi", options = { variant = "documented", children = 16, backlog = 1024 },
            page = "slow", wait_s = 0.4, load = { connections = 64, requests = 64, timeout_s = 20 } },
        { label = "4 children, queue 16", stack = "nginx-php-cgi", options = { variant = "documented", children = 4, backlog = 16 },
            page = "slow", wait_s = 0.4, load = { connections = 300, requests = 300, timeout_s = 20 } },
    },
    conclude = function(few, many, full)
        local cause = cause_of(full, "accept_queue_full") or cause_of(full, "error_pages")
        return {
            ("4 children: predicted 4 / 0.4 s = 10.0/s, measured %.1f/s."):format(few.slot.ok_per_s),
            ("16 children: predicted 40.0/s, measured %.1f/s. Whoever stands in front, the children set the rate."):format(
                many.slot.ok_per_s),
            ("4 children and a queue of 16 under 300 clients: %s answers, of them %.1f/s correct. %s"):format(
                per_s(answers_per_s(full)), full.slot.ok_per_s,
                cause and "Evidence: " .. cause.evidence or ""),
            "That is the published 843.87/s of nginx: 2,199 of 3,000 were error pages.",
        }
    end,
}

catalogue["coarse-clock"] = {
    title = "A clock with 10 ms ticks",
    about = "siege reads a clock that ticks every 10 ms and prints hundredths of a second.",
    trials = {
        { label = "nginx-lua, 100 clients, 5,000 requests", stack = "nginx-lua", options = { variant = "documented" }, page = "livecode",
            load = { connections = 100, requests = 5000 } },
    },
    conclude = function(only)
        local client = only.slot.client
        local latency = client.response_us or {}
        local tick = 0.01
        return {
            ("5,000 requests took %.4f s here; a 10 ms tick is %.1f %% of that, so the rate is uncertain by as much."):format(
                client.elapsed_s, tick / client.elapsed_s * 100),
            ("Half of the answers took under %.2f ms and 99 %% under %.2f ms: such times are printed as 0.00 or 0.01."):format(
                (latency.p50 or 0) / 1000, (latency.p99 or 0) / 1000),
            "The published `shortest 0.00` and the `0.01 s` of the fastest stack are such ticks; 0.69 s in all means +- 1.4 %.",
        }
    end,
}

local function carry_out(trial, context)
    local result = { label = trial.label, stack = trial.stack, options = trial.options, slots = {}, variant = trial.options.variant }
    local arm, handle = arms.bring_up({ key = trial.label, label = trial.label, stack = trial.stack, options = trial.options,
        variant = trial.options.variant }, context)
    if not handle then
        result.reason = arm.reason
        return result
    end
    context.handles[#context.handles + 1] = handle
    local path = trial.path or handle.pages[trial.page]
    if not path then
        result.reason = "the stack has no such page"
        return result
    end
    local load = { expect = { status = 200, variable = not trial.load.strict_length }, timeout_s = 10 }
    for key, value in pairs(trial.load) do
        load[key] = value
    end
    result.children, result.commands = handle.children, handle.commands
    context.live:status(("experiment  %s  %s"):format(trial.stack, trial.label))
    result.slot = measure.slot(handle, path, load, context)
    if result.slot.client then
        result.slots[1] = result.slot
        -- The front writes its error log at once, but after the answer: give the last lines a moment.
        process.sleep(0.05)
        evidence.gather(result, handle, trial.wait_s)
    else
        result.reason = result.slot.error
    end
    result.slots = nil
    comparison.stop_all(context)
    return result
end

--- Carries out a step of kind "experiment"; appends its record to <records>.
function experiments.run(step, context, records)
    local entry = catalogue[step.name]
    if not entry then
        error({ usage = ("%s: no experiment %q"):format(step.document.name, step.name) }, 0)
    end
    local record = { kind = "experiment", name = step.name, title = entry.title, about = entry.about, trials = {}, complete = false }
    records[#records + 1] = record
    context.live:heading(("%s: %s"):format(step.document.name, entry.title))
    local ok, failure = pcall(function()
        for number, trial in ipairs(entry.trials) do
            local result = carry_out(trial, context)
            record.trials[number] = result
            if result.reason then
                context.live:line(("  %s: %s"):format(trial.label, result.reason))
                record.reason = result.reason
            end
            context.live:advance(step.seconds / #entry.trials)
        end
    end)
    comparison.stop_all(context)
    if not ok and interrupt.is(failure) then
        error(failure, 0)
    elseif not ok then
        record.reason = tostring(failure)
    elseif not record.reason then
        record.conclusions = entry.conclude(unpack(record.trials))
        record.complete = true
        for _, line in ipairs(record.conclusions) do
            context.live:line("  " .. line)
        end
    end
end

return experiments
