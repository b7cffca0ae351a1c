-- SPDX-License-Identifier: MIT
--
-- load.lua - one run of the real load client, with its JSON report.
--
--   load.run{"-n", 100, "-c", 4, url, timeout = s, nofile = n}
--     -> report (the decoded JSON, {} if there was none), result (process.run's)
--   load.closes(report) -> bool: started = ok + failed + in flight, and failed = the sum of its kinds
--   load.tail_us(report) -> the 99.9th percentile; the maximum where the samples are too few for it
--   load.summary(report, result) -> a line for notes

local process = require("process")
local testing = require("testing")

local load = { program = testing.build .. "/load-client" }

function load.run(arguments)
    local command = { load.program, "-q", "-f", "json", timeout = arguments.timeout or 30, nofile = arguments.nofile }
    for _, word in ipairs(arguments) do
        command[#command + 1] = word
    end
    local result = process.run(command)
    local good, report = pcall(require("cjson").decode, result.out)
    if not good or type(report) ~= "table" then
        report = { requests = {}, failures = {}, status = {} }
    end
    return report, result
end

function load.closes(report)
    local requests, sum = report.requests, 0
    for _, count in pairs(report.failures) do
        sum = sum + count
    end
    return requests.started == requests.ok + requests.failed + requests.in_flight and sum == requests.failed
end

-- JSON null, which stands for "too few samples", is no number in Lua, either.
function load.tail_us(report)
    return tonumber(tostring(report.response_us.p999)) or report.response_us.max
end

function load.summary(report, result)
    local parts = { "exit " .. tostring(result.status) }
    for name, value in pairs(report.requests or {}) do
        parts[#parts + 1] = name .. " " .. tostring(value)
    end
    for name, value in pairs(report.failures or {}) do
        if value ~= 0 then
            parts[#parts + 1] = "failures." .. name .. " " .. tostring(value)
        end
    end
    return table.concat(parts, ", ") .. " " .. result.err:sub(1, 600)
end

return load
