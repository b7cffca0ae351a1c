#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A child is ready when it can serve, not before: new ones whose engine gets no descriptor are no
-- reason to let go of the old ones, which go on until a reload succeeds.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

-- The descriptor of a child's epoll set.
local function engine_descriptor(pid)
    for number = 3, 30 do
        if process.run({ "readlink", ("/proc/%d/fd/%d"):format(pid, number) }).out:find("eventpoll") then
            return number
        end
    end
end

t.each_engine(function(engine)
    local path = t.dir .. "/" .. engine .. ".lua"
    local function write_config(files)
        process.write_file(path, ('engine = %q\nping_path = "/ping"\n%s'):format(engine,
            files and "rlimit_files = " .. files .. "\n" or ""))
    end
    write_config(20) -- as few as later: with more a child opens some of its own before the engine's
    local server = t.server.start { config = path }
    local before = server:mark()
    write_config(engine_descriptor(server:workers()[1]))
    server:signal("HUP")
    t.ok(process.poll(10, function()
        return server:log_text():find("waiting %d+ ms before the next")
    end), "new children get no epoll set", server:log_text())
    t.is(server:get("/ping").body, "pong", "the service goes on")
    for pid in before:gmatch("%d+") do
        t.ok(process.alive(tonumber(pid)), "an old child still serves")
    end
    write_config()
    server:signal("HUP")
    t.ok(process.poll(15, function()
        return not process.alive(tonumber(before:match("%d+"))) and #server:workers() == 2
    end), "a reload that can start children replaces them", server:log_text())
    t.is(server:get("/ping").body, "pong", "and the service goes on")
end)
t.done()
