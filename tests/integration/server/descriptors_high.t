#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Descriptor numbers above 1023 harm neither the server nor the load client; the
-- server closes what it inherits.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local fcntl = require("posix.fcntl")
local unistd = require("posix.unistd")
local ffi = require("ffi")
t.need("nginx")

local limit = ffi.new("struct rlimit_t")
ffi.C.getrlimit(7, limit)
if limit.most < 4096 then
    t.skip("descriptors above 1023", "the hard limit of open files is " .. tonumber(limit.most))
    t.done()
end
limit.now = 4096
ffi.C.setrlimit(7, limit)

-- Without close-on-exec, so that the programs below inherit them.
local open = {}
for index = 1, 1100 do
    open[index] = assert(fcntl.open("/dev/null", fcntl.O_RDONLY))
end

t.each_engine(function(engine)
    for _, launch in ipairs { "master", "direct" } do
        t.case(launch, function()
            local server = t.server.start {
                engine = engine, children = 1, launch = launch, keep_fds = true, nofile = 4096,
            }
            t.is(server:get("/hello?name=high").body, "<h1>Hello high</h1>", "the greeting")
            local most = 0
            for _, pid in ipairs(server:workers()) do
                most = math.max(most, t.process.fds(pid))
            end
            t.ok(most < 100, "inherited descriptors are closed", most .. " are open")
            server:unchanged()
            server:stop()
        end)
    end
end)

t.case("load client", function()
    local server = t.server.start { children = 2 }
    local front = t.front.nginx { fcgi = server.address, connections = 4096, nofile = 8192 }
    local result = t.process.run {
        t.build .. "/load-client", "-c", 1100, "-n", 2200, "-k", "-f", "json", front.url .. "/echo",
        nofile = 4096, keep_fds = true, timeout = 50,
    }
    local json = require("cjson").decode(result.out)
    t.is(json.requests.ok, 2200, "1,100 connections: all answered")
    t.is(result.status, 0, "exit status", result.err)
    front:stop()
    server:stop()
end)
for _, fd in ipairs(open) do
    unistd.close(fd)
end
t.done()
