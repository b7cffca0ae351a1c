#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The load client speaks FastCGI: records cut and padded anyhow, error output, statuses of
-- END_REQUEST, kept and lost connections; and the real php-fpm, php-cgi and fcgiwrap.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcgi, load, process = t.fcgi, t.load, t.process

local function stdout(text, padding)
    return fcgi.record(fcgi.STDOUT, 1, text, padding)
end

local function ending(app_status, protocol_status)
    return fcgi.record(fcgi.END, 1, string.char(0, 0, 0, app_status or 0, protocol_status or 0, 0, 0, 0))
end

local PAGE = "Content-Type: text/plain\r\n\r\nhello"

-- One run against <bytes> (a string or pieces), for each request.
local function against(bytes, options, ...)
    local server = t.scripted.start {
        fcgi = true,
        answer = function(n, request, place)
            if type(bytes) == "function" then
                return bytes(n, request, place)
            end
            return bytes, options
        end,
    }
    local report, result = load.run { "-n", 20, "-c", 4, server.url .. "page?a=b", ... }
    local counts = server:counts()
    server:stop()
    return report, result, counts
end

t.case("answers", function()
    local forms = {
        ["one record"] = stdout(PAGE) .. stdout("") .. ending(),
        ["padding"] = stdout(PAGE, 255) .. stdout("", 3) .. ending(),
        ["no empty record"] = stdout(PAGE) .. ending(),
        ["error output between"] = stdout(PAGE:sub(1, 9)) .. fcgi.record(fcgi.STDERR, 1, "warning", 1)
            .. stdout(PAGE:sub(10)) .. ending(),
        ["cut in the record's header"] = { stdout(PAGE):sub(1, 3), stdout(PAGE):sub(4) .. ending() },
        ["cut in the page's header"] = { stdout(PAGE):sub(1, 20), stdout(PAGE):sub(21) .. ending():sub(1, 9), ending():sub(10) },
    }
    for name, bytes in pairs(forms) do
        local report, result, counts = against(bytes, { close = true })
        t.ok(report.requests.ok == 20 and report.bytes.body == 100 and load.closes(report), name, load.summary(report, result))
        t.is(counts.requests, 20, name .. ": the server saw 20 requests")
    end
end)

t.case("kept connections", function()
    local report, result, counts = against(stdout(PAGE) .. ending(), nil, "-k")
    t.ok(report.requests.ok == 20 and counts.connections == 4, "four serve twenty requests", load.summary(report, result))
end)

t.case("failures are told apart", function()
    local report = against(ending(0, 2), { close = true })
    t.ok(report.failures.protocol == 20 and report.events.fcgi_overloaded == 20, "OVERLOADED")
    report = against(ending(0, 3), { close = true })
    t.ok(report.failures.protocol == 20 and report.events.fcgi_overloaded == 0, "another refusal")
    report = against(stdout(PAGE) .. ending(7), { close = true })
    t.ok(report.requests.ok == 20 and report.events.fcgi_app_status == 20, "an exit status is counted")
    report = against(stdout("Status: 500 No\r\n\r\nhello") .. ending(), { close = true })
    t.ok(report.failures.status == 20 and report.status["5xx"] == 20, "status 500")
    report = against(stdout(PAGE), { close = true })
    t.ok(report.failures.receive == 20, "closed before END_REQUEST")
    report = against(stdout(PAGE) .. ending() .. "x", { close = true })
    t.ok(report.failures.protocol == 20, "surplus bytes")
    report = against("HTTP/1.1 200 OK\r\n\r\n", { close = true })
    t.ok(report.failures.protocol == 20, "an HTTP server")
    local result
    report, result = against("", { close_first = true })
    t.ok(report.failures.receive == 20 and result.status == 2, "closed at once", load.summary(report, result))
end)

t.case("parameters", function()
    local file = t.dir .. "/params"
    local report = against(function(_, request)
        local text = {}
        for _, record in ipairs((fcgi.records(request))) do
            if record.type == fcgi.PARAMS or record.type == fcgi.STDIN then
                text[#text + 1] = record.content
            end
        end
        process.write_file(file, table.concat(text))
        return stdout(PAGE) .. ending(), { close = true }
    end, nil, "--param", "A=b=c", "--script-filename", "/srv/x.php", "-H", "X-Some-Thing: yes", "-p", arg[0],
        "-T", "text/lua")
    local seen = process.read_file(file) or ""
    t.is(report.requests.ok, 20, "all answered")
    for _, pair in ipairs { "REQUEST_METHODPOST", "QUERY_STRINGa=b", "SCRIPT_FILENAME/srv/x.php", "Ab=c", "HTTP_X_SOME_THINGyes",
        "CONTENT_TYPEtext/lua", "CONTENT_LENGTH" .. #process.read_file(arg[0]), "SCRIPT_NAME/page", "REQUEST_URI/page?a=b" } do
        t.ok(seen:find(pair, 1, true), "sent: " .. pair)
    end
    t.ok(seen:find("failures are told apart", 1, true), "and the body")
end)

-- php-fpm with two children: kept connections beyond them are never served.
t.case("php-fpm", function()
    local program = t.path("php-fpm*.*")
    if not program then
        return t.skip("php-fpm", t.missing("php-fpm*.*"))
    end
    local folder = t.dir .. "/fpm"
    require("posix.sys.stat").mkdir(folder)
    process.write_file(folder .. "/page.php", "<?php echo 'hello ', $_GET['name'];")
    local user = require("posix.unistd").getuid() == 0 and "user = root\n" or ""
    local configuration = "[global]\nerror_log = %s/log\n[www]\n%slisten = %s/sock\npm = static\npm.max_children = 2\n"
    process.write_file(folder .. "/fpm.conf", configuration:format(folder, user, folder))
    local pid = process.spawn { program, "-F", "-R", "-n", "-y", folder .. "/fpm.conf", stderr = folder .. "/out" }
    t.poll(10, function()
        return require("posix.unistd").access(folder .. "/sock")
    end)
    local url = "fcgi+unix:" .. folder .. "/sock:/page.php?name=john"
    local function run(...)
        return load.run { "--script-filename", folder .. "/page.php", url, ... }
    end
    local report, result = run("-n", 200, "-c", 8)
    t.ok(report.requests.ok == 200 and report.bytes.body == 2000, "200 pages", load.summary(report, result))
    report, result = run("-n", 200, "-c", 6, "-k")
    t.ok(report.requests.ok == 200, "kept, counted: all are served in the end", load.summary(report, result))
    report, result = run("-d", "600ms", "-c", 6, "-k")
    t.ok(report.events.never_served == 4 and report.verdict == "invalid", "kept, timed: four are never served",
        load.summary(report, result))
    t.like(table.concat(report.reasons, "; "), "outnumber the server's children", "and it says why")
    process.finish(pid, "QUIT", 5)
end)

t.case("other programs", function()
    for _, program in ipairs { "php-cgi", "fcgiwrap" } do
        local name, path = program:match("^%a+"), t.path(program)
        local reason = t.missing(program) or t.missing("spawn-fcgi")
        if reason then
            t.skip(program, reason)
        else
            local socket, script = t.dir .. "/" .. name, t.dir .. "/" .. name .. ".script"
            local shell = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nhello'\n"
            process.write_file(script, program == "fcgiwrap" and shell or "<?php echo 'hello';")
            process.run { "chmod", "755", script }
            local pid = process.spawn { "spawn-fcgi", "-n", "-s", socket, "--", path, stderr = t.dir .. "/" .. name .. ".out" }
            t.poll(10, function()
                return require("posix.unistd").access(socket)
            end)
            local report, result = load.run { "-n", 20, "-c", 2, "--script-filename", script, "fcgi+unix:" .. socket .. ":/x" }
            t.ok(report.requests.ok == 20 and report.bytes.body == 100, program, load.summary(report, result))
            process.finish(pid, "TERM", 5)
        end
    end
end)

t.done()
