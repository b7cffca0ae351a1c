return {
    title = "lighttpd -> FastCGI, never kept -> fcgi-server, handlers in C",
    needs = { "lighttpd", "fcgi-server" },
    pages = {
        static = "/static/hello.txt",
        echo = "/echo",
        light = "/light",
        david = "/david",
        hello = "/hello?name=john",
        slow = "/sleep",
        table = "/table",
    },
    takes = { "children", "backlog", "engine", "config", "front_backlog", "workers" },
    variants = {
        documented = {
            options = { children = 4, backlog = 1024 },
            reasons = { "4 processes, lighttpd's own number for FastCGI programs that it starts" },
        },
        tuned = {
            options = { children = 4, backlog = 4096, front_backlog = 4096 },
            reasons = { "listen queues of 4096: bursts wait" },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return { programs.fcgi_server(s), programs.lighttpd(s, "fastcgi.conf", { socket = s.socket }) }
    end,
}
