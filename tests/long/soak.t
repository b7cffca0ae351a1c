#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- A long run of mixed load through nginx: memory and descriptors of every process stay
-- flat (slope test), no zombies, nothing fails. SOAK_S seconds (60).
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../lib/?.lua;" .. package.path
local t = require("testing")
local load, process = t.load, t.process
t.need("nginx")

local SECONDS = tonumber(os.getenv("SOAK_S") or (os.getenv("SHORT") and 20 or 60))
local CHILDREN = 4
-- What a process may gain in a run of seconds, in which a Lua heap has not been collected often yet.
local YOUNG_KIB, YOUNG_S = 512, 60

-- Least squares: what is gained over the whole run, and its standard error.
local function trend(samples)
    local n, sum_x, sum_y, sum_xx, sum_xy = #samples, 0, 0, 0, 0
    for index, y in ipairs(samples) do
        sum_x, sum_y, sum_xx, sum_xy = sum_x + index, sum_y + y, sum_xx + index * index, sum_xy + index * y
    end
    local slope = (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x)
    local middle, residual = (sum_y - slope * sum_x) / n, 0
    for index, y in ipairs(samples) do
        residual = residual + (y - middle - slope * index) ^ 2
    end
    local error = math.sqrt(residual / (n - 2) / (sum_xx - sum_x * sum_x / n))
    return slope * n, error * n, sum_y / n
end

local function sample(pids)
    local fds, rss = 0, 0
    for _, pid in ipairs(pids) do
        fds, rss = fds + (process.fds(pid) or 0), rss + (process.rss_kib(pid) or 0)
    end
    return fds, rss
end

local function soak(engine)
    local server = t.server.start { engine = engine, children = CHILDREN }
    local front = t.front.nginx { fcgi = server.address, keepalive = 8, workers = 2 }
    local requests = t.dir .. "/requests"
    process.write_file(requests, table.concat {
        "10 /echo\n", "10 /hello?name=soak\n", "10 /lua/hello?name=soak\n", "3 /table\n", "3 /lua/table\n",
        "3 /sleep?ms=10\n", "3 /lua/sleep?ms=10\n", "2 /lua/globals\n", "2 /status?json\n", "2 /no/such/page\n",
    })
    local share = SECONDS / #t.server.engines
    local out = t.dir .. "/soak-" .. engine
    local clients = {}
    for index, path in ipairs { "/hello?name=soak", "/lua/table", "/lua/sleep?ms=10", "/sleep?ms=10" } do
        clients[index] = process.spawn {
            load.program, "-q", "-f", "json", "-k", "-c", 2, "-R", 100, "-d", share + 5 .. "s", front.url .. path,
            stdout = out .. index,
        }
    end
    clients[#clients + 1] = process.spawn {
        load.program, "-q", "-f", "json", "-k", "-c", 2, "-R", 100, "-d", share + 5 .. "s", "-l", "--expect-status", "200,404",
        "--requests-file", requests, front.url .. "/", stdout = out .. #clients + 1,
    }
    process.pause(5) -- buffers and caches take their size
    local pids = server:workers()
    local fds, rss, zombies = {}, {}, 0
    local limit, step = t.now() + share - 2, math.max(0.2, share / 200)
    while t.now() < limit do
        fds[#fds + 1], rss[#rss + 1] = sample(pids)
        zombies = math.max(zombies, #process.children(server.pid, true) - #process.children(server.pid))
        process.pause(step)
    end
    for index, pid in ipairs(clients) do
        process.wait(pid, 30)
        local good, report = pcall(require("cjson").decode, process.read_file(out .. index) or "")
        t.ok(good and report.requests.failed == 0 and report.requests.ok > 100, "load " .. index .. ": nothing failed",
            good and load.summary(report, { err = "" }) or "no report")
    end
    -- The second half: heaps and caches take most of a million requests to reach their size.
    local gain, noise, mean = trend({ unpack(rss, math.floor(#rss / 2)) })
    local allowed = math.max(0.02 * mean, 512) + (share < YOUNG_S and CHILDREN * YOUNG_KIB or 0)
    t.ok(gain < allowed or gain < 3 * noise, "memory is flat",
        ("%.0f KiB gained in %d s, +- %.0f, of %.0f"):format(gain, share / 2, noise, mean))
    gain, noise, mean = trend(fds)
    t.ok(gain < 4 or gain < 3 * noise, "descriptors are flat", ("%.1f gained, +- %.1f, of %.0f"):format(gain, noise, mean))
    t.is(zombies, 0, "no zombies")
    t.note(("%s: %d samples over %.0f s, %.0f KiB on average"):format(engine, #rss, share, select(3, trend(rss))))
    front:stop()
    server:unchanged("the same processes as at the start", { fd_s = 10 })
    server:stop()
end

t.each_engine(soak)
t.done()
