-- What is left to read after the rounds: the stack's logs, the kernel's counters, the listen queues
-- and the client's results, brought together so that causes can be named.

local classify = require("bench.suite.analysis.classify")
local files = require("bench.suite.system.files")

local evidence = {}

local LOG_LIMIT = 1024 * 1024

-- One result that stands for all slots of an arm, for classify: sums and worst cases.
local function merged_client(arm)
    local merged = { requests = {}, failures = {}, status = {}, reasons = {}, elapsed_s = 0, ok_per_s = 0, connect_us = { max = 0 } }
    local queues, tcp_ext = {}, {}
    for _, slot in ipairs(arm.slots) do
        local client = slot.client
        if client then
            for _, part in ipairs({ "requests", "failures", "status" }) do
                for name, value in pairs(client[part] or {}) do
                    merged[part][name] = (merged[part][name] or 0) + value
                end
            end
            merged.elapsed_s = merged.elapsed_s + client.elapsed_s
            merged.connections = client.connections
            merged.connect_us.max = math.max(merged.connect_us.max, (client.connect_us or {}).max or 0)
            for _, reason in ipairs(client.reasons or {}) do
                merged.reasons[#merged.reasons + 1] = tostring(reason)
            end
            for name, value in pairs(slot.tcp_ext or {}) do
                tcp_ext[name] = (tcp_ext[name] or 0) + value
            end
            for _, queue in ipairs(slot.resources.queues or {}) do
                local seen = queues[queue.name] or { name = queue.name, max = 0 }
                seen.max, seen.backlog = math.max(seen.max, queue.max), queue.backlog
                queues[queue.name] = seen
            end
        end
    end
    merged.ok_per_s = merged.elapsed_s > 0 and (merged.requests.ok or 0) / merged.elapsed_s or 0
    local list = {}
    for _, queue in pairs(queues) do
        list[#list + 1] = queue
    end
    return merged, tcp_ext, list
end

--- Names the causes that an arm's slots and its stack's logs give evidence for; fills arm.causes,
-- arm.queues, arm.tcp_ext, arm.log_excerpt. wait_s: what the page waits in each request, if it does.
function evidence.gather(arm, handle, wait_s)
    local client, tcp_ext, queues = merged_client(arm)
    local logs = {}
    for _, name in ipairs({ "error_log", "server_log" }) do
        local path = handle.logs[name]
        local text = path and files.read(path, LOG_LIMIT)
        if text and text ~= "" then
            logs[name] = text
        end
    end
    local pool = handle.children and { children = handle.children, seconds_per_request = wait_s } or nil
    arm.tcp_ext, arm.queues = tcp_ext, queues
    if client.requests.started then
        arm.causes = classify.causes({ logs = logs, log_texts = handle.log_texts, tcp_ext = tcp_ext, queues = queues, client = client, pool = pool })
    end
    arm.log_excerpt = logs.error_log and logs.error_log:sub(1, 2000)
end

return evidence
