#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- What the load client's options do: expectations, weights, objectives, merging, the search,
-- exit codes, interruption; and --help and the manual agree.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local unistd = require("posix.unistd")
local load, process = t.load, t.process

local function http(body, status)
    return ("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s"):format(status or "200 OK", #body, body)
end

-- Answers by path.
local server = t.scripted.start {
    answer = function(n, request)
        local path = request:match("^%u+ /([^ ?]*)")
        if path == "differs" then
            return http(n % 2 == 0 and "hello" or "hallo")
        elseif path == "longer" then
            return http(("x"):rep(n % 7 + 1))
        elseif path == "gone" then
            return http("gone", "410 Gone")
        elseif path == "silent" then
            return "", { silent = true }
        end
        return http("hello")
    end,
}

t.case("expectations", function()
    local report, result = load.run { "-n", 20, server.url .. "differs" }
    t.ok(report.requests.ok == 10 and report.failures.body == 10 and result.status == 3, "bodies that differ from the first are failures",
        load.summary(report, result))
    t.like(report.examples.body, "GET /differs.*begins 'h[ae]llo'", "the first one is shown")
    report = load.run { "-n", 20, server.url .. "longer" }
    t.like(table.concat(report.reasons, "; "), "give %-l", "with the remedy in the verdict")
    t.ok(report.failures.length > 10 and report.requests.ok + report.requests.failed == 20, "so are other lengths")
    report, result = load.run { "-n", 20, "--variable", server.url .. "longer" }
    t.ok(report.requests.ok == 20 and result.status == 0, "unless --variable says that they vary")
    report, result = load.run { "-n", 20, server.url .. "gone" }
    t.ok(report.failures.status == 20 and result.status == 2, "an error page is no success")
    report, result = load.run { "-n", 20, "--expect-status", "410", server.url .. "gone" }
    t.ok(report.requests.ok == 20 and result.status == 0, "unless it is expected")
    report = load.run { "-n", 20, "--expect-length", 4, server.url }
    t.is(report.failures.length, 20, "--expect-length")
    process.write_file(t.dir .. "/right", "hello")
    process.write_file(t.dir .. "/wrong", "jello")
    report = load.run { "-n", 20, "--expect-body", t.dir .. "/right", server.url }
    t.is(report.requests.ok, 20, "--expect-body, equal")
    report = load.run { "-n", 20, "--expect-body", t.dir .. "/wrong", server.url }
    t.is(report.failures.body, 20, "--expect-body, another")
end)

t.case("weighted requests", function()
    local seen = t.dir .. "/seen"
    process.write_file(seen, "")
    local counting = t.scripted.start {
        answer = function(_, request)
            local file = io.open(seen, "a")
            file:write(request:match("^%u+ %S+"), "\n")
            file:close()
            return http(request:match("^%u+ (%S+)"))
        end,
    }
    process.write_file(t.dir .. "/list", "# weights\n3 /a\n\n1 GET /b?x=1\nDELETE /c\n")
    local report, result = load.run { "-n", 50, "-c", 1, "--requests-file", t.dir .. "/list", counting.url }
    t.ok(report.requests.ok == 50, "each request has a reference of its own", load.summary(report, result))
    local counts = {}
    for line in process.read_file(seen):gmatch("[^\n]+") do
        counts[line] = (counts[line] or 0) + 1
    end
    t.is(table.concat({ counts["GET /a"], counts["GET /b?x=1"], counts["DELETE /c"] }, " "), "30 10 10", "3 to 1 to 1, exactly")
    process.write_file(t.dir .. "/list", "/a\nno path\n")
    result = select(2, load.run { "--requests-file", t.dir .. "/list", counting.url })
    t.ok(result.status == 1 and result.err:find("list:2:"), "a bad line is named", result.err)
    counting:stop()
end)

t.case("objectives", function()
    local _, result = load.run { "-n", 2000, "-c", 4, "-k", "--slo", "p99<5s,failed<0.1%", server.url }
    t.is(result.status, 0, "held: exit 0")
    local report
    report, result = load.run { "-n", 2000, "-c", 4, "-k", "--slo", "p99<1ns,rate>1", server.url }
    t.ok(result.status == 3 and report.slo[1].held == false and report.slo[2].held == true, "missed: exit 3")
    _, result = load.run { "-n", 20, "--slo", "failed<60%", server.url .. "differs" }
    t.is(result.status, 0, "failures within the objective: exit 0")
    _, result = load.run { "-n", 20, "--slo", "fast", server.url }
    t.ok(result.status == 1 and result.err:find("'fast'"), "nonsense: exit 1")
    report, result = load.run { "--find-max", "failed<1,max<9s", "-d", "200ms", "-c", 4, "-k", server.url, timeout = 50 }
    t.ok(report.find_max and report.find_max.rate_per_s > 0 and #report.find_max.steps > 1, "the search finds a rate",
        load.summary(report, result))
    report, result = load.run { "--find-max", "p99.9<9s", "-d", "100ms", "-c", 1, "-k", server.url, timeout = 50 }
    t.ok(result.status == 3 and #report.find_max.steps == 1 and report.find_max.needs_s > 0.1,
        "it ends where the answers are too few, and says for how long to measure", load.summary(report, result))
end)

t.case("a rate below one a second", function()
    local result = process.run { load.program, "-q", "-R", "0.001", "-n", 1, server.url }
    t.like(result.out, "1 of 1 due at 0%.001/s sent %(100%.0 %%%)", "what was due was sent")
end)

t.case("options that do not go together", function()
    for words, reason in pairs {
        ["--find-max p99<1s -R 5"] = "leave %-R out", ["--find-max p99<1s --slo p99<1s"] = "leave %-%-slo out",
        ["-i -p /dev/null"] = "leave %-p or %-i out", ["-i -m PUT"] = "leave %-m out", ["-i --expect-length 5"] = "has no body",
        ["-l --expect-length 5"] = "leave %-%-expect", ["-kZ"] = "unknown option %-Z", ["--head=5"] = "takes no value",
        ["-n 1 -o /nowhere/report"] = "cannot write /nowhere", ["-n 1 --hgrm /nowhere/table"] = "cannot write /nowhere",
        ["--param A=B"] = "fcgi://", ["--script-filename /x"] = "fcgi://", ["-d soon"] = "500ms", ["--expect-status fine"] = "200,3xx",
    } do
        local argv = { load.program, "-q" }
        for word in words:gmatch("%S+") do
            argv[#argv + 1] = word
        end
        argv[#argv + 1] = server.url
        local result = process.run(argv)
        t.ok(result.status == 1 and result.err:find(reason) and result.out == "", words .. ": refused with the remedy", result.err)
    end
    local refused = process.run { load.program, "-q", "http://127.0.0.1:" .. t.free_port() .. "/" }
    t.ok(not refused.out:find("statuses", 1, true), "no answer: no line of statuses")
end)

t.case("merging", function()
    local one, two = t.dir .. "/one.json", t.dir .. "/two.json"
    process.run { load.program, "-q", "-f", "json", "-o", one, "-n", 30, server.url }
    process.run { load.program, "-q", "-f", "json", "-o", two, "-n", 50, server.url }
    local result = process.run { load.program, "merge", "-f", "json", one, two }
    local report = require("cjson").decode(result.out)
    t.ok(report.requests.ok == 80 and report.response_us.count == 80 and result.status == 0, "counts and histograms add up", result.err)
    t.like(table.concat(report.reasons, ";"), "same time", "runs one after another are not taken for one load")
    local link = t.dir .. "/again.json"
    unistd.link(one, link, true)
    local twice = process.run { load.program, "merge", one, two, link }
    t.ok(twice.status == 1 and twice.out == "", "a file given twice is a usage error", twice.out)
    t.like(twice.err, one:gsub("%p", "%%%0") .. " and " .. link:gsub("%p", "%%%0") .. " are one file", "and both names are told")
    t.is(process.run { load.program, "merge", arg[0] }.status, 1, "what is no result is refused")
end)

t.case("exit codes", function()
    t.is(select(2, load.run { server.url }).status, 0, "0: all as expected")
    t.is(select(2, load.run { "http://no..where/" }).status, 1, "1: a name that does not resolve")
    t.is(select(2, load.run { "https://127.0.0.1/" }).status, 1, "1: what is not supported")
    t.is(select(2, load.run { "-n", 5, "http://127.0.0.1:" .. t.free_port() .. "/" }).status, 2, "2: nothing succeeded")
    local judged = process.run { load.program, "-q", "-n", 5, "--slo", "p99<1s", server.url }
    t.ok(judged.status == 3 and judged.out:find("unknown +n/a"), "3: an objective that so few requests cannot show", judged.out)
    local report, result = load.run { "-n", 3, "-c", 3, "-s", "100ms", server.url .. "silent" }
    t.ok(report.failures.timeout == 3 and report.response_us.count == 3 and report.response_us.min >= 100000 and result.status == 2,
        "time-outs stand in the response times", load.summary(report, result))
    report, result = load.run { "-d", "300ms", "-R", 200, "-c", 1, "-s", "10s", "--strict", server.url .. "silent" }
    t.ok(report.requests.in_flight == 1 and report.verdict == "invalid" and result.status == 2, "a hung server is not hidden",
        load.summary(report, result))
    report, result = load.run { "-d", "300ms", "-R", 100000, "-c", 1, "-k", "--strict", server.url }
    t.ok(report.verdict == "invalid" and result.status == 4, "4: invalid and --strict", load.summary(report, result))
end)

t.case("values that mean nothing are refused, with the remedy", function()
    for _, words in ipairs {
        { "-n", "0" }, { "-n", "1.5" }, { "-c", "0" }, { "-j", "0" }, { "-d", "0" }, { "-t", "0s" }, { "-s", "0" }, { "-R", "0" },
        { "--slo", "" }, { "-m", "" }, { "-p", "" }, { "-H", "no colon" }, { "--expect-status", "99" },
    } do
        local result = process.run { load.program, words[1], words[2], server.url }
        t.ok(result.status == 1 and result.err:find("expected") and result.out == "", table.concat(words, " "), result.err)
    end
end)

t.case("interruption", function()
    for name, status in pairs { INT = 130, TERM = 143 } do
        local out = t.dir .. "/" .. name
        local pid = process.spawn { load.program, "-q", "-f", "json", "-o", out, "-d", "60s", "-c", 2, "-k", server.url }
        local before = server:counts().requests
        t.poll(10, function()
            return server:counts().requests > before + 10
        end)
        local started = t.now()
        process.kill(pid, name)
        local _, code = process.wait(pid, 5)
        local good, report = pcall(require("cjson").decode, process.read_file(out) or "")
        t.ok(code == status and t.now() - started < 2, name .. " ends with " .. status .. " at once", tostring(code))
        t.ok(good and report.requests.ok > 0 and load.closes(report) and report.interrupted, name .. ": the report is printed")
    end
end)

t.case("help and manual", function()
    local help = process.run { load.program, "--help" }.out
    local manual = process.read_file(t.root .. "/bench/load-client/load-client.1") or ""
    local missing, known = {}, {}
    for long in help:gmatch("%-%-([%a-]+)") do
        known[long] = true
        if not manual:find("Fl -" .. long .. " ", 1, true) and not manual:find("Fl -" .. long .. "\n", 1, true) then
            missing[#missing + 1] = "--" .. long
        end
    end
    for letter in help:gmatch("\n  %-(%a)") do
        known[letter] = true
        if not manual:find("\n%.It Fl " .. letter .. "[ ,\n]") then
            missing[#missing + 1] = "-" .. letter
        end
    end
    t.is(table.concat(missing, " "), "", "the manual has every option of --help")
    local strange = {}
    for line in manual:gmatch("\n%.It (Fl [^\n]+)") do
        for long in line:gmatch("Fl %-([%a-]+)") do
            strange[#strange + 1] = not known[long] and long or nil
        end
        for letter in line:gmatch("Fl (%a) ") do
            strange[#strange + 1] = not known[letter] and letter or nil
        end
    end
    t.is(table.concat(strange, " "), "", "and no other")
    local width = 0
    for line in help:gmatch("[^\n]+") do
        width = math.max(width, #line)
    end
    t.ok(width <= 100, "no line of --help is wider than 100 columns", tostring(width))
end)

server:stop()
t.done()
