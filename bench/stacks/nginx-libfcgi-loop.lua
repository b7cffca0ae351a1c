-- The baseline: the program that everybody writes first.
return {
    title = "nginx -> FastCGI -> libfcgi's plain accept loop in C, children of spawn-fcgi",
    needs = { "nginx", "spawn-fcgi", "libfcgi-loop" },
    blocking = true,
    pages = { static = "/static/hello.txt", echo = "/echo" },
    takes = { "children", "backlog", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip" },
    variants = {
        documented = {
            options = {
                children = 1024, backlog = 1024, front_backlog = 511, tcp = true,
                access_log = true,
            },
            reasons = { "spawn-fcgi -F 1024 on a TCP port, a connection for each request, access log on" },
        },
        tuned = {
            options = { children = 4, backlog = 4096, keepalive = 4 },
            reasons = {
                "4 children and 4 kept connections (keepalive x workers <= children)",
                "unix socket; listen queue 4096; no access log",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return {
            programs.spawn_fcgi(s, { s:find("libfcgi-loop") }, { name = "libfcgi-loop" }),
            programs.nginx_fastcgi(s),
        }
    end,
}
