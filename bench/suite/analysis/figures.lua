-- The figures of a result. Each is declared once, here: its key in results.json (which ends in its
-- unit), where it is read, how the slots of an arm are brought together, and how it is printed.
-- Measuring, judging and every table go through these lists. Pure.
--
-- print: name of a function of report/format.lua. tables: the tables that show it ("rates",
-- "latency", "resources", "slots": report.html; "short": report.md; "terminal"), in the order of
-- the lists. left: a text, which is not aligned to the right.

local figures = {}

--- Read for each process of a group, growing with time; a slot has the change, summed over the group.
-- of(p): the reading, from the fields of system/proc.lua. request: the same for one correct answer,
-- the median over the slots: {key, scale, head, print}. A further counter of the kernel is one row.
figures.process = {
    { key = "cpu_s", of = function(p)
        return p.run_s + p.reaped_user_s + p.reaped_system_s
    end, request = { key = "cpu_us_per_request", scale = 1e6, head = "CPU/request", print = "us" } },
    { key = "user_s", of = function(p)
        return p.user_s + p.reaped_user_s
    end, request = { key = "user_us_per_request", scale = 1e6, head = "user", print = "us" } },
    { key = "system_s", of = function(p)
        return p.system_s + p.reaped_system_s
    end, request = { key = "system_us_per_request", scale = 1e6, head = "system", print = "us" } },
    { key = "voluntary_switches", of = function(p)
        return p.voluntary
    end, request = { key = "switches_per_request", scale = 1, head = "switches/request", print = "number" } },
    { key = "involuntary_switches", of = function(p)
        return p.involuntary
    end, request = { key = "preemptions_per_request", scale = 1, head = "preemptions/request", print = "number" } },
}

-- <value> for each correct answer of <slot>; nil when there is none.
local function per_answer(slot, value)
    local ok = slot.client.requests.ok
    return value and ok > 0 and value / ok or nil
end

-- Answers of any status in <slot>.
local function answers(slot)
    local count = 0
    for _, value in pairs(slot.client.status or {}) do
        count = count + value
    end
    return count
end

--- Read once for each slot. of(slot): the value or nil. over: how the slots of an arm are brought
-- together in its summary, "median", "sum" or "max". slot_of: what the table of slots shows instead.
figures.slot = {
    { key = "server_cpu_us_per_request", over = "median", of = function(slot)
        return slot.resources and slot.resources.server_cpu_us_per_request
    end, head = "server CPU/request", print = "us", tables = "rates short terminal slots" },
    { key = "client_cpu_us_per_request", over = "median", of = function(slot)
        local us = per_answer(slot, slot.client.client_cpu_s)
        return us and us * 1e6
    end, head = "client CPU/request", print = "us", tables = "rates" },
    { key = "bytes_per_answer", over = "median", of = function(slot)
        return per_answer(slot, slot.client.bytes and slot.client.bytes.received)
    end, head = "received/answer", print = "bytes", tables = "resources" },
    { key = "body_bytes_per_answer", over = "median", of = function(slot)
        local bytes, count = (slot.client.bytes or {}).body, answers(slot)
        return bytes and count > 0 and bytes / count or nil
    end, head = "bytes/answer", print = "bytes", tables = "rates short terminal" },
    -- What a client that does not look at the answers would print as its rate.
    { key = "answers_per_s", over = "median", of = function(slot)
        return slot.elapsed_s and slot.elapsed_s > 0 and answers(slot) / slot.elapsed_s or nil
    end, head = "answers of any status", print = "rate", tables = "" },
    { key = "in_flight", over = "sum", of = function(slot)
        return slot.client.requests.in_flight
    end, head = "in flight at the end", print = "number", tables = "slots" },
    { key = "foreign_cpus", over = "median", of = function(slot)
        return slot.foreign_cpus
    end, head = "other programs, CPUs", print = "number", tables = "slots" },
}

--- Percentiles and ends of the client's times, in microseconds: key in `response_us`, `service_us` and
-- `connect_us`. over: as above, where no merged histogram has the exact value. q: the quantile.
figures.latency = {
    { key = "min", over = "min" },
    { key = "mean", over = "median", head = "mean" },
    { key = "p50", over = "median", q = 0.5, head = "p50", tables = "short terminal" },
    { key = "p75", over = "median", q = 0.75 },
    { key = "p90", over = "median", q = 0.9, head = "p90" },
    { key = "p95", over = "median", q = 0.95 },
    { key = "p99", over = "median", q = 0.99, head = "p99", tables = "short terminal" },
    { key = "p999", over = "median", q = 0.999, head = "p99.9" },
    { key = "max", over = "max", head = "max", tables = "short" },
}

--- Is <figure> shown in the table <name>?
function figures.shown(figure, name)
    return (" " .. (figure.tables or "") .. " "):find(" " .. name .. " ", 1, true) ~= nil
end

--- The rows of <list> that the table <name> shows, in their order.
function figures.of_table(list, name)
    local chosen = {}
    for _, figure in ipairs(list) do
        if figures.shown(figure, name) then
            chosen[#chosen + 1] = figure
        end
    end
    return chosen
end

return figures
