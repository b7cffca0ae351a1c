return {
    title = "Apache (event) -> FastCGI -> fcgi-server, handlers in C",
    needs = { "apache", "fcgi-server" },
    pages = {
        static = "/static/hello.txt",
        echo = "/echo",
        light = "/light",
        david = "/david",
        hello = "/hello?name=john",
        slow = "/sleep",
        table = "/table",
    },
    takes = { "children", "backlog", "engine", "config", "tcp", "workers", "keepalive", "front_backlog", "access_log", "gzip" },
    variants = {
        documented = {
            options = { children = 4, backlog = 1024, keepalive = 0, access_log = true },
            reasons = {
                "a connection to the application for each request: the default of mod_proxy_fcgi",
                "access log on, listen queue of 511, as packaged",
            },
        },
        tuned = {
            options = { children = 4, backlog = 4096, keepalive = 64, front_backlog = 4096 },
            reasons = {
                "64 threads, and a kept connection to the application for each",
                "listen queues of 4096: bursts wait; no access log",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return { programs.fcgi_server(s, { owner = programs.APACHE_OWNER }), programs.apache_fastcgi(s) }
    end,
}
