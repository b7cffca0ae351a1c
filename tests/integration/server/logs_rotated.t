#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Rotated logs: after USR1 new files get the lines, old ones stop growing, no
-- process ends, no request is lost; a full disk does not stop service.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process

local function one_line(server, tag)
    server:get("/dies?how=fail&tag=" .. tag)
end

local function count(path, pattern)
    return select(2, (process.read_file(path) or ""):gsub(pattern, ""))
end

local function size(path)
    return #(process.read_file(path) or "")
end

t.each_engine(function(engine)
    local log, access = t.dir .. "/" .. engine .. ".err", t.dir .. "/" .. engine .. ".acc"
    local server = t.server.start {
        engine = engine, children = 2, routes = { "/dies=" .. t.fixture("dies.so") },
        arguments = { "--log", log, "--access-log", access },
    }
    one_line(server, "before")
    t.ok(process.poll(3, function()
        return count(log, "asked to fail") == 1 and count(access, "tag=before") == 1
    end), "lines before the rotation are there", process.read_file(log))
    os.rename(log, log .. ".1")
    os.rename(access, access .. ".1")
    server:signal("USR1")
    t.ok(process.poll(3, function()
        return process.read_file(log) and process.read_file(access)
    end), "USR1 makes new files")
    -- Each child reopens when the signal reaches it: until no line goes to the old files.
    local old_log, old_access
    process.poll(3, function()
        old_log, old_access = size(log .. ".1"), size(access .. ".1")
        for _ = 1, 5 do
            one_line(server, "between")
        end
        return size(access .. ".1") == old_access
    end)
    local between = count(log, "asked to fail")
    for _ = 1, 10 do
        one_line(server, "after")
    end
    t.ok(process.poll(3, function()
        return count(log, "asked to fail") >= between + 10 and count(access, "tag=after") == 10
    end), "the new files get the lines of every child",
        count(log, "asked to fail") .. " and " .. count(access, "tag=after"))
    t.ok(size(log .. ".1") <= old_log + 200 and size(access .. ".1") == old_access, "the old ones stop growing",
        process.read_file(log .. ".1"))
    server:unchanged("after the rotation: same processes")

    os.remove(log)
    os.remove(access)
    server:signal("USR1")
    t.ok(process.poll(3, function()
        one_line(server, "removed")
        return count(log, "asked to fail") > 0 and count(access, "tag=removed") > 0
    end), "removed files come back after USR1")
    server:unchanged("after the removal: same processes")
    server:stop()

    server = t.server.start {
        engine = engine, children = 2, routes = { "/dies=" .. t.fixture("dies.so") },
        arguments = { "--log", "/dev/full", "--access-log", "/dev/full" },
    }
    for _ = 1, 20 do
        one_line(server, "full")
    end
    server:unchanged("a full disk: service goes on")
    local how, code = server:stop()
    t.ok(how == "exited" and code == 0, "a full disk: stops in good order")
end)
t.done()
