return {
    title = "nginx -> FastCGI -> fcgi-server, Lua that asks an application server over TCP",
    needs = { "nginx", "fcgi-server", "luajit" },
    pages = { livecode = "/lua/proxy" },
    takes = { "children", "backlog", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip", "engine", "config" },
    variants = {
        documented = {
            options = { children = 4, backlog = 511, front_backlog = 511, access_log = true },
            reasons = { "the settings that the document's PHP stack has" },
        },
        tuned = {
            options = { children = 2, backlog = 4096, keepalive = 64 },
            reasons = {
                "2 children: waiting for the application server holds no child",
                "kept connections on both sides; no access log",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        local server, address = programs.app_server(s)
        return {
            server,
            programs.fcgi_server(s, { routes = { "/lua/proxy=proxy.lua," .. address } }),
            programs.nginx_fastcgi(s),
        }
    end,
}
