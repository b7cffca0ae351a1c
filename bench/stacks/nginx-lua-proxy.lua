return {
    title = "nginx alone, Lua in its workers that asks an application server over TCP",
    needs = { "nginx", "nginx-lua", "luajit" },
    pages = { livecode = "/lua/proxy" },
    takes = { "front_backlog", "workers", "access_log", "gzip", "kept_sockets" },
    variants = {
        documented = {
            options = { access_log = true, front_backlog = 511 },
            reasons = { "a connection to the application server for each request; access log on" },
        },
        tuned = {
            options = { kept_sockets = true },
            reasons = {
                "connections to the application server are kept (cosocket pool of 128)",
                "no access log: a line per request",
            },
        },
    },
    build = function(s, programs)
        local server, address = programs.app_server(s)
        local env = { APPLICATION_SERVER = address, APPLICATION_SERVER_KEPT = s.options.kept_sockets and "1" or nil }
        return { server, programs.nginx(s, "lua.conf", { env = env }) }
    end,
}
