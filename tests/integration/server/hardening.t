#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- The programs are built hardened, handlers are confined to their folders, Lua
-- handlers cannot end or leave the process, and children hold no more than they need.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
t.need("readelf")

local function readelf(option, path)
    return process.run { "readelf", "-W", option, path }.out
end

local function binary(path, is_program)
    local name = path:match("[^/]+$")
    local headers, dynamic = readelf("-lh", path), readelf("-d", path)
    t.like(headers, "Type:%s+DYN", name .. ": position independent")
    t.like(headers, "GNU_RELRO", name .. ": relocations are read-only")
    t.ok(dynamic:find("BIND_NOW") or dynamic:find("FLAGS_1.*NOW"), name .. ": bound at start")
    t.ok(headers:match("GNU_STACK[^\n]*") and not headers:match("GNU_STACK[^\n]*"):find("E"),
        name .. ": the stack is not executable")
    if is_program then
        local symbols = process.run { "nm", "-D", path }.out
        t.like(symbols, "__stack_chk_fail", name .. ": stack protector")
        t.like(symbols, "_chk", name .. ": fortified functions")
        -- The system's start files lack the mark, so the linker drops it; the code has it.
        local _, landings = process.run { "objdump", "-d", "--no-show-raw-insn", path }.out:gsub("endbr64", "")
        t.ok(landings > 50, name .. ": control flow protection", landings .. " landing pads")
        t.ok(not dynamic:find("RPATH") and not dynamic:find("RUNPATH"), name .. ": no library path of its own")
    end
end

local function confined()
    local folder = t.dir .. "/handlers"
    process.run { "mkdir", "-p", folder, t.dir .. "/outside" }
    process.run { "cp", t.build .. "/handlers/echo.so", t.dir .. "/outside/echo.so" }
    process.run { "ln", "-s", t.dir .. "/outside/echo.so", folder .. "/link.so" }
    process.run { "ln", "-s", t.build .. "/handlers/echo.so", folder .. "/absolute.so" }
    process.write_file(t.dir .. "/outside/page.lua", "return function(request) request:write('out') end\n")
    process.run { "ln", "-s", t.dir .. "/outside/page.lua", folder .. "/page.lua" }
    for _, name in ipairs { "../outside/echo.so", "link.so", "absolute.so", "page.lua", "./../outside/page.lua" } do
        local server, failure = t.server.try {
            config = false, children = 1, routes = { "/x=" .. name }, arguments = { "--handlers-dir", folder },
            cwd = folder,
        }
        t.ok(not server and failure.status == 100, "a handler outside its folder is refused: " .. name,
            failure and failure.err or "it started")
        if server then
            server:stop()
        end
    end
end

local function lua_cannot(engine)
    local script = process.write_file(t.dir .. "/escape.lua", [[
        local tries = {
            exit = function() os.exit(1) end,
            execute = function() return os.execute("true") end,
            popen = function() return io.popen("id") end,
            open = function() return io.open("/etc/passwd") end,
            lines = function() return io.lines("/etc/passwd") end,
            remove = function() return os.remove("/tmp/nothing-of-that-name") end,
            rename = function() return os.rename("/tmp/a", "/tmp/b") end,
            tmpname = function() return os.tmpname() end,
            ffi = function() return require("ffi").C.getpid() end,
            loadlib = function() return package.loadlib("libc.so.6", "*") end,
            cpath = function() return require("posix") end,
            debug = function() return debug.getregistry() end,
            dofile = function() return dofile("/etc/passwd") end,
            loadfile = function() return loadfile("/etc/passwd") end,
            bytecode = function() return loadstring(string.dump(function() return 1 end))() end,
            getfenv = function() return getfenv(0).os.execute end,
            string_method = function() getmetatable("").__index = {} return ("x").rep end,
        }
        return function(request)
            local good, value = pcall(tries[request:query("how")])
            request:write(good and value ~= nil and "got " .. tostring(value) or "no")
        end
    ]])
    local server = t.server.start { engine = engine, children = 1, routes = { "/escape=" .. script } }
    for _, how in ipairs { "exit", "execute", "popen", "open", "lines", "remove", "rename", "tmpname", "ffi",
        "loadlib", "cpath", "debug", "dofile", "loadfile", "bytecode", "getfenv" } do
        t.is(server:get("/escape?how=" .. how).body, "no", "a Lua handler cannot use " .. how)
    end
    server:get("/escape?how=string_method")
    t.is(server:get("/lua/hello?name=still").body, "<h1>Hello still</h1>", "one script cannot spoil another's strings")
    server:unchanged("the same process answered all", { log = { "os%.", "io%.", "exit", "escape%.lua" } })
    server:stop()
end

-- Nothing inherited but what it needs: standard streams, sockets, its own event descriptors.
local function descriptors(engine)
    local server = t.server.start { engine = engine, children = 1 }
    local kinds = {}
    local pid = server:workers()[1]
    local listed = t.process.run { "find", "/proc/" .. pid .. "/fd", "-mindepth", "1", "-printf", "%f %l\\n" }.out
    for row in listed:gmatch("[^\n]+") do
        kinds[#kinds + 1] = row
    end
    local foreign = {}
    for _, row in ipairs(kinds) do
        if row:find(" /") and not row:find(" /dev/null") and not row:find("memfd") and not row:find("%.log$")
            and not row:find("^[12] ") and not row:find("/schedstat$") then -- its own, of the slow log
            foreign[#foreign + 1] = row
        end
    end
    t.ok(#kinds > 5 and #kinds < 24 and #foreign == 0, "a child holds no file open", table.concat(kinds, "\n"))
    server:stop()
end

local function secrets()
    local server = t.server.start { children = 1, env = { DATABASE_PASSWORD = "hunter2" } }
    for _, path in ipairs { "/status?full", "/status?json&full", "/status?openmetrics", "/lua/globals" } do
        local answer = server:get(path)
        t.ok(answer.status == 200 and not answer.body:find("hunter2"), "no environment in " .. path, answer.stdout:sub(1, 200))
    end
    server:stop()
    local port = t.free_port()
    server = t.server.try { children = 1, address = ":" .. port, config = false, routes = { "/x=echo.so" } }
    if server then
        local listening = process.run { "ss", "-Hltn" }.out
        t.ok(not listening:find("0.0.0.0:" .. port) and not listening:find("*:" .. port, 1, true)
            and not listening:find("[::]:" .. port, 1, true), "a port without an address is on loopback only", listening)
        server:stop()
    else
        t.ok(true, "an address without a host is refused")
    end
end

if not os.getenv("SANITIZER") then
    binary(t.build .. "/fcgi-server", true)
    binary(t.build .. "/load-client", true)
    binary(t.build .. "/handlers/echo.so")
    binary(t.build .. "/handlers/table.so")
end
confined()
t.each_engine(function(engine)
    lua_cannot(engine)
    descriptors(engine)
end)
secrets()
t.done()
