-- Sample configuration of fcgi-server: every shipped handler, ready to run from a checkout:
--
--     build/fcgi-server -c conf/fcgi-server.lua -l unix:/tmp/fcgi.sock -n 4
--
-- This is a Lua script. Assignments set options (fcgi-server --help lists them, with '_' for '-');
-- the command line overrides them. route(path, handler, argument) answers <path> and everything
-- below it; the longest path wins. Relative handlers are looked for next to this file, in the
-- current folder, and where the build or the installation has them.

-- Where and how many: usually given on the command line.
-- listen = "unix:/run/fcgi-server/socket"      -- or "127.0.0.1:9000", "[::1]:9000"
-- children = 4

status_path = "/status"
ping_path = "/ping"

-- C handlers. The argument of echo.so is the text that it answers.
route("/echo", "echo.so", "hello world\n")
route("/light", "echo.so", "echo")
route("/david", "echo.so", "Hello, david!\n")
route("/hello", "hello.so")
route("/sleep", "sleep.so")
route("/table", "table.so")

-- The same in Lua, byte for byte; and two that only exist there.
route("/lua/echo", "echo.lua", "hello world\n")
route("/lua/hello", "hello.lua")
route("/lua/sleep", "sleep.lua")
route("/lua/table", "table.lua")
route("/lua/table/concat", "table.lua", "concat") -- the slower of its two forms, to compare
route("/lua/globals", "globals.lua")
route("/lua/proxy", "proxy.lua", "127.0.0.1:9578")
