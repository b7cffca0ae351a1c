-- Reference: what nginx and the kernel cost when the application does nothing but answer.
return {
    title = "nginx -> FastCGI -> floor responder in C: the least an application can cost",
    needs = { "nginx", "floor-responder" },
    pages = { echo = "/echo" },
    takes = { "children", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip" },
    variants = {
        documented = {
            options = { children = 4, front_backlog = 511, access_log = true },
            reasons = { "a connection for each request, access log on" },
        },
        tuned = {
            options = { children = 4, keepalive = 64 },
            reasons = { "kept connections; no access log" },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return {
            s:program({
                name = "floor-responder",
                argv = {
                    s:find("floor-responder"),
                    s.tcp_port and tostring(s.tcp_port) or s:address(),
                    tostring(s.children),
                },
                listens = s:listens(),
                log = s.folder .. "/floor-responder.log",
            }),
            programs.nginx_fastcgi(s),
        }
    end,
}
