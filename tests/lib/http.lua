-- SPDX-License-Identifier: MIT
--
-- http.lua - one request by the real curl.
--
--   http.get(url, {method =, body =, headers = {"Name: value"}, head = bool, timeout = s,
--                  unix = path, arguments = {...}})
--     -> {status, headers (lower case, last one counts), body, head (raw text), exit (curl's code),
--         seconds}

local process = require("process")

local http = {}
local number = 0

function http.get(url, options)
    options = options or {}
    local testing = require("testing")
    number = number + 1
    local base = testing.dir .. "/curl-" .. number
    local command = {
        "curl", "-s", "-S", "--http1.1", "--globoff", "--max-time", options.timeout or 20,
        "-D", base .. ".head", "-o", base .. ".body", "-w", "%{time_total}", "-H", "Expect:",
    }
    local function add(...)
        for _, word in ipairs { ... } do
            command[#command + 1] = word
        end
    end
    if options.head then
        add("-I")
    elseif options.method then
        add("-X", options.method)
    end
    if options.body then
        add("--data-binary", "@" .. process.write_file(base .. ".send", options.body))
    end
    for _, header in ipairs(options.headers or {}) do
        add("-H", header)
    end
    if options.unix then
        add("--unix-socket", options.unix)
    end
    add(unpack(options.arguments or {}))
    add(url)
    command.timeout = (options.timeout or 20) + 2
    local result = process.run(command)
    local head = process.read_file(base .. ".head") or ""
    local answer = {
        exit = result.status, error = result.err, head = head, headers = {},
        body = process.read_file(base .. ".body") or "", seconds = tonumber(result.out),
        status = tonumber(("\n" .. head):match(".*\nHTTP/[%d.]+ (%d+)")), -- the last: 100 may come first
    }
    if options.head then
        answer.body = ""
    end
    for name, value in head:gmatch("\r\n([^:\r\n]+):%s*([^\r\n]*)") do
        answer.headers[name:lower()] = value
    end
    for _, suffix in ipairs { ".head", ".body", ".send" } do
        os.remove(base .. suffix)
    end
    return answer
end

return http
