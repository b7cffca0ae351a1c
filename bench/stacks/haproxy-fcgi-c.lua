return {
    title = "HAProxy -> FastCGI -> fcgi-server, handlers in C",
    needs = { "haproxy", "fcgi-server" },
    pages = {
        echo = "/echo",
        light = "/light",
        david = "/david",
        hello = "/hello?name=john",
        slow = "/sleep",
        table = "/table",
    },
    takes = { "children", "backlog", "engine", "config", "tcp", "workers", "keepalive", "front_backlog", "access_log" },
    variants = {
        documented = {
            options = { children = 4, backlog = 1024, keepalive = 32 },
            reasons = {
                "connections to the application are kept: HAProxy's own default",
            },
        },
        tuned = {
            options = { children = 4, backlog = 4096, keepalive = 64, front_backlog = 4096 },
            reasons = {
                "64 idle connections kept: one for each request that is usually under way",
                "listen queues of 4096: bursts wait",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return { programs.fcgi_server(s), programs.haproxy(s) }
    end,
}
