return {
    title = "Caddy -> FastCGI, never kept -> fcgi-server, handlers in C",
    needs = { "caddy", "fcgi-server" },
    pages = {
        static = "/static/hello.txt",
        echo = "/echo",
        light = "/light",
        david = "/david",
        hello = "/hello?name=john",
        slow = "/sleep",
        table = "/table",
    },
    takes = { "children", "backlog", "engine", "config", "tcp", "workers" },
    variants = {
        documented = {
            options = { children = 4, backlog = 1024 },
            reasons = {
                "4 children; Caddy opens a connection to the application for each request, whatever is asked",
            },
        },
        tuned = {
            options = { children = 4, backlog = 4096 },
            reasons = {
                "listen queue of 4096: bursts wait",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return { programs.fcgi_server(s), programs.caddy(s) }
    end,
}
