return {
    title = "h2o -> FastCGI -> fcgi-server, handlers in C",
    needs = { "h2o", "fcgi-server" },
    pages = {
        static = "/static/hello.txt",
        echo = "/echo",
        light = "/light",
        david = "/david",
        hello = "/hello?name=john",
        slow = "/sleep",
        table = "/table",
    },
    takes = { "children", "backlog", "engine", "config", "tcp", "workers", "keepalive" },
    variants = {
        documented = {
            options = { children = 4, backlog = 1024, keepalive = 0 },
            reasons = {
                "a connection to the application for each request: h2o's own default",
            },
        },
        tuned = {
            options = { children = 4, backlog = 4096, keepalive = 64 },
            reasons = {
                "connections to the application are kept, as many as were in use at a time",
                "listen queue of 4096: bursts wait",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return { programs.fcgi_server(s), programs.h2o(s) }
    end,
}
