#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Each shipped C handler and its Lua twin give the same answer, head and body,
-- from both engines, also to values that they refuse; sizes are as documented.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")

local queries = {
    echo = { "", "name=x", "%" },
    hello = { "", "name=john", "name=", "name", "NAME=x", "name=%3Cb%3E%26%22'", "name=a+b%2B",
        "name=%00x", "name=%C3%A9%FF", "name=%E2%82", "name=%ED%A0%80x%F0%9F%98%80", "name=%C0%AF", "name=%zz%", "name=a&name=b" },
    sleep = { "ms=0", "ms=1", "ms=0007", "ms=", "ms", "ms=-1", "ms=+1", "ms=1.5", "ms=60001",
        "ms=99999999999999999999", "ms=1%00", "ms=0x1", "ms=%201", "ms=1e1" },
    table = { "", "max=0", "max=1", "max=2", "max=10", "max=11", "max=99", "max=101", "max=999", "max=1000",
        "max=", "max", "max=-1", "max=1e2", "max=a", "max=1%00", "max=99999999999999999999" },
}

-- What must not differ: everything that the handler decides.
local function essence(answer)
    local names = {}
    for name, value in pairs(answer.headers or {}) do
        names[#names + 1] = name .. ": " .. value
    end
    table.sort(names)
    return ("%s\n%s\n%s"):format(answer.status, table.concat(names, "\n"), answer.body)
end

local function compare(server, name)
    local different = {}
    for _, query in ipairs(queries[name]) do
        for _, method in ipairs { "GET", "HEAD", "POST" } do
            local options = { method = method, timeout = 10 }
            local c = essence(server:get("/" .. name .. "?" .. query, options))
            local lua = essence(server:get("/lua/" .. name .. "?" .. query, options))
            if c ~= lua then
                different[#different + 1] = ("%s ?%s\n%s\n%s"):format(method, query, c:sub(1, 300),
                    lua:sub(1, 300))
            end
        end
    end
    t.ok(#different == 0, name .. ": both give the same answers", table.concat(different, "\n"))
end

local function table_page(rows)
    local parts = { "<table>" }
    for row = 0, rows - 1 do
        parts[#parts + 1] = "<tr>"
        for column = 0, row - 1 do
            parts[#parts + 1] = "<td>" .. row .. " " .. column .. "</td>"
        end
        parts[#parts + 1] = "</tr>"
    end
    return table.concat(parts) .. "</table>"
end

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 1 }
    for _, name in ipairs { "echo", "hello", "sleep", "table" } do
        compare(server, name)
    end
    for _, path in ipairs { "/hello", "/lua/hello" } do
        t.is(server:get(path .. "?name=a%ffb%C3").body, "<h1>Hello a\239\191\189b\239\191\189</h1>",
            path .. ": UTF-8 whatever bytes come")
    end
    t.is(#server:get("/table").body, 67840, "the table page has 67,840 bytes")
    for _, path in ipairs { "/table?max=101", "/lua/table?max=101", "/lua/table/concat?max=101" } do
        t.ok(server:get(path).body == table_page(101), path .. " is the table of 101 rows")
    end
    for _, path in ipairs { "/table?max=1000", "/lua/table?max=x", "/sleep?ms=60001", "/lua/sleep?ms=-1" } do
        local answer = server:get(path)
        t.ok(answer.status == 400 and answer.body:find("must be a whole number from 0 to %d+\n$"),
            path .. " is refused with the reason", answer.stdout)
    end
    local start = t.now()
    t.is(server:get("/sleep").body, "slept 400 ms\n", "the sleep page")
    t.ok(t.now() - start >= 0.4, "it slept the whole time")
    start = t.now()
    t.is(server:get("/lua/sleep").body, "slept 400 ms\n", "the sleep page in Lua")
    t.ok(t.now() - start >= 0.4, "it waited the whole time")
    local globals = server:get("/lua/globals")
    t.ok(globals.status == 200 and globals.body:find("_G.string.format = function", 1, true)
        and globals.body:find("_G._G -> _G\n", 1, true) and not globals.body:find("0x"),
        "all globals, cycles cut, no addresses", globals.body)
    t.is(server:get("/lua/globals").body, globals.body, "in the same order each time")
    server:unchanged("the same child answered all")
    server:stop()
end)

-- C: signals do not shorten the sleep.
t.case("signals", function()
    local server = t.server.start { engine = "event", children = 1 }
    local connection = t.fcgi.connect(server.address)
    connection:send(t.fcgi.request { path = "/sleep?ms=200" })
    local start = t.now()
    local pid = server:workers()[1]
    t.poll(0.15, function()
        t.process.kill(pid, "URG")
        t.process.kill(pid, "WINCH")
        return false
    end)
    t.is(connection:answer(1, 5).body, "slept 200 ms\n", "the answer comes")
    t.ok(t.now() - start >= 0.2, "not before its time")
    connection:close()
    server:stop()
end)

t.case("the skeleton", function()
    local server = t.server.start { engine = "event", children = 1,
        routes = { "/s=skeleton.so,bones", "/other=skeleton.so" } }
    t.is(server:get("/s").body, "bones 1\n", "answers")
    t.is(server:get("/s?ms=30").body, "bones 2\n", "waits and answers")
    t.is(server:get("/other").body, "skeleton 1\n", "each route has a state of its own")
    local connection = t.fcgi.connect(server.address)
    connection:send(t.fcgi.request { path = "/s?ms=60000" })
    server:get("/s")
    connection:close()
    server:unchanged("a cancelled one leaves nothing")
    server:stop()
end)
t.done()
