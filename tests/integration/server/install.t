#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- make install: into a folder with a space; the units name what was installed; the installed server finds the installed
-- handlers; a handler is built with nothing but what was installed; installing again
-- gives new inodes, so that running processes keep the old files.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
local process = t.process
local stat = require("posix.sys.stat")
if t.build ~= t.root .. "/build" then
    print("1..0 # SKIP only for the plain build: make would build this one with other flags")
    os.exit(0)
end
t.need("make", "cc", "pkg-config")

local stage = t.dir .. "/a stage"
local prefix = stage .. "/usr"

local function install()
    return process.run { "make", "-s", "-C", t.root, "install", "BUILD=build", "DESTDIR=" .. stage,
        "PREFIX=/usr", timeout = 100 }
end

local run = install()
t.is(run.status, 0, "it installs")
t.note(run.err)

-- As a package would see it: the folders of the stage are the system's.
local flags = process.run { "pkg-config", "--cflags", "fcgi-handler", timeout = 10,
    env = { PKG_CONFIG_PATH = prefix .. "/lib/pkgconfig", PKG_CONFIG_ALLOW_SYSTEM_CFLAGS = "1" } }
t.is(flags.out:gsub("%s+$", ""), "-I/usr/include", "pkg-config knows where the header is")

local units = prefix .. "/lib/systemd/system/"
local unit = process.read_file(units .. "fcgi-server.service") or ""
local program = unit:match("\nExecStart=(%S+)")
t.ok(program == "/usr/bin/fcgi-server" and stat.stat(stage .. program), "the unit starts the installed program", program)
t.ok(not unit:find("/usr/local", 1, true), "and names no other prefix", unit)
t.is(process.read_file(units .. "fcgi-server.socket"), process.read_file(t.root .. "/conf/systemd/fcgi-server.socket"),
    "its socket is installed as well")

local source = process.write_file(t.dir .. "/own.c", [[
#include "fcgi-handler.h"
static enum fh_result
handle(void *state, struct fh_request *request)
{
    (void)state;
    fh_print(request, "own\n");
    return FH_OK;
}
const struct fh_handler fcgi_handler = {FH_ABI, sizeof(struct fh_handler), .name = "own", .handle = handle};
]])
local compiled = process.run { "cc", "-shared", "-fPIC", "-I", prefix .. "/include", "-o", t.dir .. "/own.so",
    source, timeout = 30 }
t.is(compiled.status, 0, "a handler is built with the installed header")

local server_program = t.server.program
t.server.program = prefix .. "/bin/fcgi-server"
local server = t.server.start { children = 1, config = prefix .. "/share/fcgi-server/fcgi-server.lua",
    routes = { "/own=" .. t.dir .. "/own.so", "/page=" .. process.write_file(t.dir .. "/page.lua",
        'local web = require("web")\nreturn function(request) request:write(web.html("<")) end\n') }, cwd = "/" }
t.is(server:get("/page").body, "&lt;", "a script elsewhere requires the installed web")
t.is(server:get("/hello?name=x").body, "<h1>Hello x</h1>", "an installed handler in C")
t.is(server:get("/lua/hello?name=x").body, "<h1>Hello x</h1>", "an installed handler in Lua")
t.is(server:get("/own").body, "own\n", "the own one")

local handler = prefix .. "/lib/fcgi-server/hello.so"
local relative = process.run { "make", "-s", "-C", t.root, "install", "BUILD=build", "PREFIX=relative", timeout = 100 }
t.ok(relative.status == 2 and relative.err:find("absolute path", 1, true) and not stat.stat(t.root .. "/relative"),
    "a relative PREFIX is refused: it would land in the checkout", relative.err)
local before = stat.stat(handler).st_ino
t.is(install().status, 0, "it installs again, while the server runs")
t.ok(stat.stat(handler).st_ino ~= before, "the handler is a new file")
server:unchanged("the running server does not mind")
process.kill(server:workers()[1], "KILL")
t.ok(process.poll(10, function()
    return server:get("/hello?name=y").body == "<h1>Hello y</h1>"
end), "a new child loads the new file")
server:stop()
t.server.program = server_program
t.done()
