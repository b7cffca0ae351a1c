#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The shipped configurations are right as they are: nginx, Apache, lighttpd, HAProxy, h2o, Caddy and
-- PHP-FPM accept them without a warning, from any prefix; no parameter is sent twice; the status is not public;
-- a request whose child dies is tried again.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/?.lua;" .. package.path
local cjson = require("cjson")
local files = require("bench.suite.system.files")
local http = require("bench.suite.system.http")
local programs = require("bench.suite.bring_up.programs")
local stack = require("bench.suite.bring_up.stack")

local prefix = t.dir .. "/any prefix"
files.make_folder(prefix .. "/pages")

local function conf(folder)
    local list = {}
    for _, name in ipairs(files.list(t.root .. "/conf/" .. folder)) do
        if name:match("%.conf$") then
            list[#list + 1] = t.root .. "/conf/" .. folder .. "/" .. name
        end
    end
    return list
end

local function whole(folder)
    local parts = {}
    local function add(path)
        for _, name in ipairs(files.list(path)) do
            if files.kind(path .. "/" .. name) == "folder" then
                add(path .. "/" .. name)
            else
                parts[#parts + 1] = "# " .. name .. "\n" .. t.read_file(path .. "/" .. name)
            end
        end
    end
    add(t.root .. "/conf/" .. folder)
    return table.concat(parts, "\n")
end

t.case("nginx", function()
    local nginx = programs.find("nginx", t.root)
    for _, path in ipairs(conf("nginx")) do
        local name = path:match("[^/]+$")
        local module, missing = programs.find("nginx-lua", t.root)
        if name == "lua.conf" and not module then
            t.skip(name, "the Lua module is " .. missing)
        else
            local run = t.process.run { nginx, "-t", "-p", prefix, "-e", "error.log", "-c", path }
            t.is(run.status, 0, name .. ": accepted")
            local rest = run.err:gsub("nginx: the configuration file [^\n]* syntax is ok\n", "")
                :gsub("nginx: configuration file [^\n]* test is successful\n", "")
            t.is(rest, "", name .. ": without a warning")
        end
    end
    t.is(t.read_file(prefix .. "/error.log"), "", "nothing in the early error log")
end)

t.case("parameters", function()
    local text = whole("nginx")
    for _, kind in ipairs { "fastcgi_param", "uwsgi_param" } do
        local seen, twice = {}, {}
        for name in text:gmatch("\n%s*" .. kind .. "%s+(%S+)") do
            twice[#twice + 1] = seen[name] and name or nil
            seen[name] = true
        end
        t.is(table.concat(twice, " "), "", kind .. ": none is sent twice")
        t.like(text, kind .. '%s+HTTP_PROXY%s+""', kind .. ": HTTP_PROXY is emptied")
    end
    t.like(whole("apache"), "RequestHeader unset Proxy early", "Apache drops the header that makes it")
    t.like(whole("haproxy"), "http%-request del%-header Proxy\n", "HAProxy does")
    t.like(whole("caddy"), "request_header %-Proxy\n", "Caddy does")
end)

t.case("Apache", function()
    local apache, reason = programs.find("apache", t.root)
    if not apache then
        return t.skip("Apache", "Apache is " .. reason)
    end
    for _, path in ipairs(conf("apache")) do
        local name = path:match("[^/]+$")
        local run = t.process.run { apache, "-t", "-d", t.root .. "/conf/apache", "-f", name,
            "-C", 'Define PREFIX "' .. prefix .. '"', "-C", "Define USER nobody", "-C", "Define GROUP nogroup" }
        local module, missing = programs.find("mod-php", t.root)
        if name == "php.conf" and not module then
            t.skip(name, "mod_php is " .. missing)
        else
            t.is(run.err, "Syntax OK\n", name .. ": accepted without a warning")
        end
    end
end)

t.case("lighttpd", function()
    local lighttpd, reason = programs.find("lighttpd", t.root)
    if not lighttpd then
        return t.skip("lighttpd", "lighttpd is " .. reason)
    end
    local run = t.process.run { lighttpd, "-t", "-f", t.root .. "/conf/lighttpd/fastcgi.conf" }
    t.is(run.status, 0, "accepted")
    t.is(run.err, "", "without a warning")
end)

-- What a program says of a configuration that it finds good.
for _, row in ipairs {
    { "HAProxy", "haproxy", { "-c", "-f", t.root .. "/conf/haproxy/fastcgi.cfg" }, "^Configuration file is valid\n$" },
    { "HAProxy, no kept connections", "haproxy", { "-c", "-f", t.root .. "/conf/haproxy/fastcgi.cfg" },
        "^Configuration file is valid\n$", { KEPT = "0" } },
    { "h2o", "h2o", { "-t", "-c", t.root .. "/conf/h2o/fastcgi.conf" }, "^configuration OK\n" },
    { "Caddy", "caddy", { "validate", "--adapter", "caddyfile", "--config", t.root .. "/conf/caddy/Caddyfile" },
        "Valid configuration\n", { HOME = prefix, XDG_CONFIG_HOME = prefix, XDG_DATA_HOME = prefix } },
} do
    local name, program, words, pattern, env = unpack(row, 1, 5)
    t.case(name, function()
        local path, reason = programs.find(program, t.root)
        if not path then
            return t.skip(name, reason)
        end
        local run = t.process.run { path, env = env, unpack(words) }
        t.is(run.status, 0, "accepted")
        t.like(run.out .. run.err, pattern, "and said to be good")
        t.ok(not (run.out .. run.err):lower():find("warn"), "without a warning", run.out .. run.err)
    end)
end

t.case("PHP-FPM", function()
    local fpm, reason = programs.find("php-fpm", t.root)
    if not fpm then
        return t.skip("PHP-FPM", "php-fpm is " .. reason)
    end
    local run = t.process.run { fpm, "-t", "-R", "-p", prefix, "-c", t.root .. "/conf/php-fpm/php.ini",
        "-y", t.root .. "/conf/php-fpm/php-fpm.conf", env = { PHP_INI_SCAN_DIR = "" } }
    t.like(run.err .. (t.read_file(prefix .. "/php-fpm.log") or ""), "test is successful", "accepted")
end)

if stack.missing("nginx-fcgi-c") then
    t.skip("behind nginx", stack.missing("nginx-fcgi-c"))
    t.done()
end

t.case("status", function()
    local s = assert(stack.up("nginx-fcgi-c", { children = 2 }))
    t.is(http.get(s.url, "/ping").body, "pong", "from this machine")
    t.is(http.get(s.url, "/status").status, 200, "the status as well")
    local text = t.read_file(t.root .. "/conf/nginx/include/status.conf")
    t.like(text, "allow 127%.0%.0%.1;.*allow ::1;.*deny all;", "others are refused")
    stack.down(s)
end)

-- The child that runs /sleep at this moment.
local function sleeper(s)
    for _, child in ipairs(cjson.decode(http.get(s.url, "/status?full&json").body).processes) do
        if child.state == "Running" and child["request uri"]:find("^/sleep") then
            return child.pid
        end
    end
end

-- Children die while they serve: nginx has a second try for what may be repeated.
t.case("second try", function()
    for _, keepalive in ipairs { 0, 8 } do
        local s = assert(stack.up("nginx-fcgi-c", { children = 4, keepalive = keepalive }))
        local statuses = {}
        for round = 1, 5 do
            local out = ("%s/answer-%d-%d"):format(t.dir, keepalive, round)
            local client = t.process.spawn { "curl", "-s", "-o", out, "-w", "%{http_code}", s.url .. "/sleep?ms=400",
                stdout = out .. ".code" }
            local pid = t.poll(5, function()
                return sleeper(s)
            end)
            t.process.kill(assert(pid, "nobody serves /sleep"), "KILL")
            t.process.wait(client, 10)
            statuses[round] = t.read_file(out .. ".code") .. " " .. t.read_file(out)
        end
        t.is(table.concat(statuses), ("200 slept 400 ms\n"):rep(5),
            "a child is killed in mid-request, " .. (keepalive > 0 and "kept connections" or "fresh connections"))
        stack.down(s)
    end
end)

t.done()
