#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The load client against nginx, Apache, lighttpd, Node, uWSGI and Python's own
-- server: bodies of awkward sizes, every byte verified, kept connections and fresh.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process

local sizes = { 0, 1, 8191, 8192, 65535, 65536, 10485760 }
local folder = t.dir .. "/www"
process.run { "mkdir", folder }
process.run { "chmod", "755", t.dir, folder }
for _, size in ipairs(sizes) do
    process.write_file(folder .. "/" .. size, t.fcgi.noise(size, size))
end

local function wait_for(port)
    return process.poll(10, function()
        local c = t.fcgi.connect("127.0.0.1:" .. port)
        if c then
            c:close()
            return true
        end
    end)
end

local function spawned(command)
    return function()
        local port = t.free_port()
        local words = command(port)
        words.stdout, words.env = t.dir .. "/peer.log", { LD_PRELOAD = false }
        local pid = process.spawn(words)
        if not wait_for(port) then
            error("did not start: " .. (process.read_file(t.dir .. "/peer.log") or ""))
        end
        return "http://127.0.0.1:" .. port .. "/", function()
            process.finish(pid, "TERM")
        end
    end
end

local function front(kind)
    return function()
        local f = t.front[kind] { fcgi = "127.0.0.1:9", files = folder }
        return f.url .. "/files/", function()
            f:stop()
        end
    end
end

local node = process.write_file(t.dir .. "/server.js", [[
const fs = require("fs"), path = require("path");
require("http").createServer((request, response) => {
    let got = 0;
    request.on("data", (data) => { got += data.length; });
    request.on("end", () => {
        if (request.method === "POST") return response.end(String(got));
        fs.readFile(path.join(process.argv[3], path.basename(request.url)), (error, body) => {
            response.statusCode = error ? 404 : 200;
            response.end(error ? "absent" : body);
        });
    });
}).listen(Number(process.argv[2]), "127.0.0.1");
]])
local wsgi = process.write_file(t.dir .. "/app.py", [[
import os
def application(environ, start_response):
    status, body = "200 OK", b""
    try:
        with open(os.path.join(os.environ["FOLDER"], os.path.basename(environ["PATH_INFO"])), "rb") as file:
            body = file.read()
    except OSError:
        status = "404 Not Found"
    start_response(status, [("Content-Length", str(len(body)))])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
]])

local peers = {
    { "nginx", "nginx", front("nginx") },
    { "Apache", "apache2", front("apache") },
    { "lighttpd", "lighttpd", front("lighttpd") },
    { "Node", "node", spawned(function(port)
        return { "node", node, port, folder }
    end) },
    { "uWSGI", "uwsgi", spawned(function(port)
        return { "env", "FOLDER=" .. folder, "uwsgi", "--plugin", "python3", "--http-socket", "127.0.0.1:" .. port,
            "--wsgi-file", wsgi, "--die-on-term", "--master", "--processes", "2" }
    end) },
    { "Python's http.server", "python3", spawned(function(port)
        return { "python3", "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", folder }
    end) },
}

local function check(url, name)
    for _, size in ipairs(sizes) do
        for _, keep in ipairs { "-k", "-q" } do
            local n = size > 1e6 and 6 or 40
            local report, result = load.run {
                "-n", n, "-c", 3, keep, "--expect-body", folder .. "/" .. size, url .. size, timeout = 60,
            }
            t.ok(report.requests.ok == n and load.closes(report) and report.bytes.body == n * size,
                name .. ": " .. size .. " bytes, " .. (keep == "-k" and "kept" or "fresh"), load.summary(report, result))
        end
    end
    local report, result = load.run { "-n", 20, "-c", 2, "-k", "-i", url .. "65536" }
    t.ok(report.requests.ok == 20 and report.bytes.body == 0, name .. ": HEAD", load.summary(report, result))
    report, result = load.run { "-n", 20, "-c", 2, "-k", "--expect-status", "4xx,5xx", "-l", url .. "absent" }
    t.ok(report.requests.ok == 20, name .. ": a missing page is a 4xx or 5xx", load.summary(report, result))
end

for _, peer in ipairs(peers) do
    local name, program, start = unpack(peer)
    if t.missing(program) then
        t.skip(name, t.missing(program))
    else
        t.case(name, function()
            local url, stop = start()
            check(url, name)
            stop()
        end)
    end
end

-- Bodies up, through nginx to the server and straight.
t.case("bodies up", function()
    local server = t.server.start { children = 2, routes = { "/body=" .. t.fixture("body.so") } }
    local f = t.front.nginx { fcgi = server.address, keepalive = 4 }
    for _, size in ipairs(sizes) do
        local file = folder .. "/" .. size
        for name, url in pairs { ["through nginx"] = f.url .. "/body", straight = "fcgi+unix:" .. server.socket .. ":/body" } do
            local report, result = load.run {
                "-n", 5, "-c", 2, "-k", "-p", file, "-T", "application/octet-stream", "--expect-body", file, url, timeout = 60,
            }
            t.ok(report.requests.ok == 5, size .. " bytes up and back " .. name, load.summary(report, result))
        end
    end
    f:stop()
    server:stop()
end)
t.done()
