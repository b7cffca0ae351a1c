return {
    title = "nginx -> FastCGI -> fcgi-server and its children, handlers in Lua (LuaJIT)",
    needs = { "nginx", "fcgi-server" },
    pages = {
        static = "/static/hello.txt",
        echo = "/lua/echo",
        light = "/lua/light",
        david = "/lua/david",
        hello = "/lua/hello?name=john",
        slow = "/lua/sleep",
        table = "/lua/table",
        globals = "/lua/globals",
    },
    takes = { "children", "backlog", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip", "engine", "config" },
    variants = {
        documented = {
            options = {
                children = 1024, backlog = 1024, front_backlog = 511, tcp = true,
                access_log = true, gzip = true,
            },
            reasons = {
                "1024 children on a TCP port, a connection for each request, access log and gzip on: what v8cgi had",
                "listen queue of 1024, what spawn-fcgi sets",
            },
        },
        tuned = {
            options = { children = 4, backlog = 4096, keepalive = 64 },
            reasons = {
                "4 children: enough to keep every processor busy; a handler that waits holds no child",
                "unix socket, kept connections: no connect and close each time; an idle one holds no child",
                "listen queue 4096: bursts wait instead of failing with 502; no access log, no compression",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        -- The two short answers exist as routes of the C handler only.
        local routes = { "/lua/light=echo.lua,echo", "/lua/david=echo.lua,Hello, david!\n" }
        return { programs.fcgi_server(s, { routes = routes }), programs.nginx_fastcgi(s) }
    end,
}
