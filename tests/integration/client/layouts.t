#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The load client's reports: the layouts of ab and siege against the real programs, line by line
-- and read with the same patterns; CSV, percentile table, series; counts equal to nginx's log.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process
t.need("nginx")

local nginx = t.front.nginx {
    fcgi = "unix:/nonexistent",
    server = '    location /page { default_type text/plain; return 200 "hello world\\n"; }\n'
        .. '    location /missing { return 404 "none\\n"; }\n',
}
local page = nginx.url .. "/page"

local function client(...)
    return process.run { load.program, "-q", ... }
end

local function lines(text, from)
    local list, started = {}, false
    for line in (text .. "\n"):gmatch("(.-)\r?\n") do
        started = started or line:find(from) ~= nil
        -- ab adds two lines, of either wording, when its mean and median lie apart.
        local doubt = line:find("^WARNING:") or line:find("^ERROR:") or line:find("These results are")
        if started and not doubt then
            list[#list + 1] = line
        end
    end
    return list
end

-- The line with every number, and what is of the length of a number, made alike.
local function shape(line)
    return (line:gsub("%d+%.%d+", "N"):gsub("%d+", "N"):gsub("%s+", " "):gsub(" $", ""))
end

-- Both programs' lines have the same shape in the same order.
local function compare(name, ours, theirs)
    local same, at = true, nil
    for index = 1, math.max(#ours, #theirs) do
        if shape(ours[index] or "(nothing)") ~= shape(theirs[index] or "(nothing)") then
            same, at = false, index
            break
        end
    end
    t.ok(same, name, at and ("line " .. at .. "\nours:   " .. tostring(ours[at]) .. "\ntheirs: " .. tostring(theirs[at])))
end

local AB = {
    "Server Software:%s+(%S+)", "Document Length:%s+(%d+) bytes", "Concurrency Level:%s+(%d+)",
    "Complete requests:%s+(%d+)", "Failed requests:%s+(%d+)", "HTML transferred:%s+(%d+) bytes",
    "Total transferred:%s+(%d+) bytes",
}
local AB_NUMBERS = {
    "Requests per second:%s+([%d.]+) %[#/sec%] %(mean%)", "Time taken for tests:%s+([%d.]+) seconds",
    "Time per request:%s+([%d.]+) %[ms%] %(mean, across all concurrent requests%)",
    "Transfer rate:%s+([%d.]+) %[Kbytes/sec%] received", "Total:%s+%d+%s+%d+%s+[%d.]+%s+%d+%s+(%d+)", "100%%%s+(%d+)",
}

t.case("ab", function()
    if t.missing("ab") then
        t.skip("ab", t.missing("ab"))
        return
    end
    for _, keep in ipairs { false, true } do
        local flag = keep and "-k" or "-q"
        local theirs = process.run { "ab", "-n", 1000, "-c", 7, flag, page }.out
        local ours = client("-f", "ab", "-n", 1000, "-c", 7, flag, page).out
        local name = keep and "kept: " or "one request each: "
        compare(name .. "the same lines in the same order", lines(ours, "^Server Software"), lines(theirs, "^Server Software"))
        for _, pattern in ipairs(AB) do
            -- Our requests have another size, so has nginx's answer with keep-alive.
            if not pattern:find("^Total") then
                t.is(ours:match(pattern), theirs:match(pattern), name .. pattern:match("^[%a ]+"))
            end
        end
        for _, pattern in ipairs(AB_NUMBERS) do
            t.ok(tonumber(ours:match(pattern)), name .. "a number for " .. pattern:match("^[%w ]+"), ours)
        end
    end
    local theirs = process.run { "ab", "-n", 100, "-c", 7, nginx.url .. "/missing" }.out
    local ours = client("-f", "ab", "-n", 100, "-c", 7, "--expect-status", "404", nginx.url .. "/missing").out
    compare("other statuses have their line", lines(ours, "^Server Software"), lines(theirs, "^Server Software"))
    t.like(client("-f", "ab", page).out, "^This is load%-client", "the head says whose report it is")
end)

t.case("siege", function()
    if t.missing("siege") then
        t.skip("siege", t.missing("siege"))
        return
    end
    local rc = t.dir .. "/siegerc"
    process.write_file(rc, "verbose = false\ncolor = off\nparser = false\nlogging = false\nconnection = close\n"
        .. "benchmark = true\nquiet = false\n")
    local real = process.run { "siege", "-R", rc, "-b", "-c", 5, "-r", 20, page, timeout = 30 }
    local theirs, ours = real.err .. real.out, client("-f", "siege", "-n", 100, "-c", 5, page).out
    local function cut(text)
        local list = lines(text, "^Transactions:")
        while #list > 0 and not list[#list]:find("transaction") do
            list[#list] = nil
        end
        return list
    end
    compare("the same lines in the same order", cut(ours), cut(theirs))
    for _, pattern in ipairs { "Transactions:%s+(%d+) hits", "Availability:%s+([%d.]+) %%", "Successful transactions:%s+(%d+)",
        "Failed transactions:%s+(%d+)" } do
        t.is(ours:match(pattern), theirs:match(pattern), pattern:match("^[%a ]+"))
    end
end)

t.case("others", function()
    local csv = client("-f", "csv", "-n", 100, "-c", 3, page).out
    local names, values = csv:match("^(.-)\r\n(.-)\r\n$")
    local _, columns = names:gsub(",", "")
    local _, fields = values:gsub(",", "")
    t.is(fields, columns, "CSV: as many values as names")
    local text = client("-n", 100, "-c", 3, page).out
    t.like(text, "100 started = 100 ok %+ 0 failed %+ 0 in flight", "text: the accounting is printed")
    t.like(text, "p99.-n/a", "text: percentiles of too few requests are n/a")
    local hgrm, series = t.dir .. "/table.hgrm", t.dir .. "/series"
    client("-d", "1300ms", "-c", 3, "-k", "--hgrm", hgrm, "--series", series, "-o", t.dir .. "/report", page)
    t.like(process.read_file(hgrm), "Value%s+Percentile%s+TotalCount%s+1/%(1%-Percentile%)", "the percentile table has its head")
    t.like(process.read_file(hgrm), "#%[Max%s+=.-Total count%s+=", "and its foot")
    t.like(process.read_file(t.dir .. "/report"), "verdict", "-o: the report is in the file")
    local sum, ordered, last = 0, true, 0
    local cjson = require("cjson")
    for line in process.read_file(series):gmatch("[^\n]+") do
        local row = cjson.decode(line)
        sum = sum + row.ok
        ordered, last = ordered and row.unix_s > last, row.unix_s
    end
    t.is(sum, tonumber(process.read_file(t.dir .. "/report"):match("= (%d+) ok")), "the series sums up to the report")
    t.ok(ordered and math.abs(last - os.time()) < 30, "its time stamps are absolute and rise")
end)

t.case("counts equal nginx's access log", function()
    local function logged()
        local _, count = nginx:access_log():gsub("/counted", "")
        return count
    end
    local total = 0
    for _, form in ipairs { { 1, 200 }, { 401, 400 }, { 1003, 10, "-k" }, { 997, 13, "-k", "-j", 2 } } do
        local report, result = load.run { "-n", form[1], "-c", form[2], nginx.url .. "/page/counted", unpack(form, 3) }
        total = total + form[1]
        t.ok(report.requests.ok == form[1] and t.poll(5, function()
            return logged() == total
        end), form[1] .. " requests, " .. form[2] .. " connections", load.summary(report, result) .. " logged " .. logged())
    end
end)

nginx:stop()
t.done()
