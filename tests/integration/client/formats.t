#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- What the load client writes for programs is read back as it was: CSV by RFC 4180, JSON, the series,
-- a result merged by itself; with every text that comes from the user. What cannot be written is an error.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local cjson = require("cjson")
local load, process = t.load, t.process

local server = t.scripted.start {
    answer = function(n, request)
        local status = request:match("^%u+ /mixed") and ({ "200 OK", "404 No", "599 x", "777 x" })[n % 4 + 1] or "200 OK"
        return "HTTP/1.1 " .. status .. "\r\nContent-Length: 5\r\n\r\nhello",
            { close = request:find("\r\nConnection: close", 1, true) ~= nil }
    end,
}

-- One record of RFC 4180 from <at>: its fields, and where the next record begins.
local function record(text, at)
    local fields = {}
    while true do
        local field
        if text:sub(at, at) == '"' then
            local from = at + 1
            local close = from
            while true do
                close = text:find('"', close, true)
                if text:sub(close + 1, close + 1) ~= '"' then
                    break
                end
                close = close + 2
            end
            field, at = text:sub(from, close - 1):gsub('""', '"'), close + 1
        else
            local stop = text:find('[,\r"]', at)
            field, at = text:sub(at, stop - 1), stop
        end
        fields[#fields + 1] = field
        if text:sub(at, at + 1) == "\r\n" then
            return fields, at + 2
        end
        assert(text:sub(at, at) == ",", "neither a comma nor the end of a line at " .. at)
        at = at + 1
    end
end

local TEXTS = { "plain", '?q="a",b', '?"', '?""', "?,,,", "?a=b;c'd", "?back\\slash\\", "?{\"x\":[1,2]}", "?%22%2C", "?\195\164\226\130\172\240\159\152\128" }

for _, text in ipairs(TEXTS) do
    local url = server.url .. text
    local csv = process.run { load.program, "-q", "-f", "csv", "-n", 20, "-c", 3, url }
    local good, names, values = pcall(function()
        local names, at = record(csv.out, 1)
        local values, rest = record(csv.out, at)
        assert(rest == #csv.out + 1, "more than two records")
        return names, values
    end)
    t.ok(good and #names == #values, text .. ": CSV has as many fields as names", tostring(names) .. "\n" .. csv.out)
    local row = {}
    for i, name in ipairs(good and names or {}) do
        row[name] = values[i]
    end
    t.ok(row.url == url and row.ok == "20" and row.failed == "0" and row.verdict == "valid", text .. ": CSV, each field in its place", csv.out)

    local file = t.dir .. "/one.json"
    process.run { load.program, "-q", "-f", "json", "-o", file, "-n", 20, "-c", 3, url }
    local one = cjson.decode(process.read_file(file))
    t.is(one.url, url, text .. ": JSON")
    local merged = process.run { load.program, "merge", "-f", "json", file }
    t.is(cjson.decode(merged.out).url, url, text .. ": JSON, merged")
    t.is(record(process.run { load.program, "merge", "-f", "csv", file }.out:match("\r\n(.*)"), 1)[1], url, text .. ": CSV, merged")
    t.like(process.run { load.program, "-q", "-f", "ab", url }.out, "Document Path: +/" .. text:gsub("%p", "%%%0"), text .. ": ab")
end

t.case("bytes that are no characters", function()
    local report = load.run { server.url .. "?\255\192\128" }
    t.is(report.url, server.url .. "?\239\191\189\239\191\189\239\191\189", "stand as U+FFFD, and JSON stays JSON")
    report = load.run { "--slo", "p99<20ms", "-n", 1, server.url .. "?\127x" }
    t.is(report.url, nil, "control characters are refused")
end)

-- A result merged by itself is itself, but for what only the run knew.
t.case("merging one result", function()
    local file = t.dir .. "/whole.json"
    for _, words in ipairs {
        { "-n", 200, "-c", 3, "-k", server.url .. "mixed" }, { "-R", "300", "-n", 200, "-c", 3, server.url .. "mixed" },
        { "-R", "0.0004", "-n", 1, server.url }, { "-d", "300ms", "--warmup", "100ms", "-c", 2, "-k", server.url },
        { "-n", 4, "http://127.0.0.1:1/" },
    } do
        process.write_file(file, process.run { load.program, "-q", "-f", "json", unpack(words) }.out)
        local report = cjson.decode(process.read_file(file))
        local merged = cjson.decode(process.run { load.program, "merge", "-f", "json", file }.out)
        local name = table.concat(words, " ", 1, 3)
        for _, key in ipairs { "url", "mode", "rate_per_s", "connections", "threads", "keep_alive", "warmup_s", "elapsed_s", "started_at_unix_s",
            "requests", "failures", "status", "events", "examples", "ok_per_s", "bytes", "response_us", "service_us", "connect_us", "first_byte_us",
            "failed_us", "in_flight_us", "lag_us", "response_lower_bounds", "connections_opened", "connections_open_peak", "client_cpu_s",
            "client_pauses_s", "document_length", "server", "interrupted", "verdict", "histograms" } do
            local function flat(value)
                if type(value) ~= "table" then
                    return tostring(value)
                end
                local list = {}
                for k, v in pairs(value) do
                    list[#list + 1] = tostring(k) .. "=" .. flat(v)
                end
                table.sort(list)
                return "{" .. table.concat(list, ",") .. "}"
            end
            local was, is = flat(report[key]), flat(merged[key])
            t.ok(was == is and report[key] ~= nil, name .. ": " .. key, was:sub(1, 300) .. "\n" .. is:sub(1, 300))
        end
    end
end)

t.case("what cannot be written", function()
    local url, cannot = server.url, "cannot write"
    local result = process.run { load.program, "-q", "-d", "20s", "-c", 2, "-k", "--series", "/dev/full", url, timeout = 15 }
    t.ok(result.status == 1 and result.err:find(cannot) and result.err:find("/dev/full"), "a series: an error that ends the run",
        tostring(result.status) .. result.err)
    t.like(result.out, "ended when the series could not be written", "whose report is printed all the same")
    result = process.run { load.program, "-q", "-n", 5, "--series", "/dev/full", url }
    t.ok(result.status == 1 and result.err:find(cannot), "the series of a short run, too", result.err)
    result = process.run { load.program, "-q", "-n", 5, "-o", "/dev/full", "-f", "csv", url }
    t.ok(result.status == 1 and result.err:find(cannot) and result.out:find(",5,5,0,0,"), "a report goes to standard output then", result.err)
    result = process.run { load.program, "-q", "-n", 5, "--hgrm", "/dev/full", url }
    t.ok(result.status == 1 and result.err:find(cannot) and result.out:find("TotalCount"), "and a table", result.err)
    local file = t.dir .. "/good.json"
    process.run { load.program, "-q", "-f", "json", "-o", file, url }
    for _, words in ipairs { "-n 1 " .. url, "-n 1 -f json " .. url, "merge " .. file, "--help", "--version" } do
        result = process.run { "bash", "-c", load.program .. " " .. words .. " >/dev/full" }
        t.ok(result.status == 1 and result.err:find(cannot), words:match("^%S+ %S*") or words, tostring(result.status) .. result.err)
    end
    result = process.run { load.program, "-q", "--series", t.dir .. "/nowhere/x", url }
    t.ok(result.status == 1 and result.err:find("nowhere") and result.out == "", "a folder that is missing: before the run", result.err)
end)

server:stop()
t.done()
