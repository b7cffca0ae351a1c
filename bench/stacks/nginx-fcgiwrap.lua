return {
    title = "nginx -> FastCGI -> fcgiwrap, a CGI process (LuaJIT) for each request",
    needs = { "nginx", "fcgiwrap", "luajit" },
    blocking = true,
    unreaped = true,
    pages = { static = "/static/hello.txt", livecode = "/cgi/livecode" },
    takes = { "children", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip" },
    variants = {
        documented = {
            options = { children = 1, front_backlog = 511, access_log = true },
            reasons = {
                "one fcgiwrap process, as its package starts it: the published rate is one script at a time",
                "access log on",
            },
        },
        tuned = {
            options = { children = 4 },
            reasons = { "4 processes: scripts run on every processor", "no access log" },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        local address = (s.tcp_port and "tcp:" or "unix:") .. s:bare_address()
        return {
            s:program({
                name = "fcgiwrap",
                argv = { s:find("fcgiwrap"), "-f", "-c", tostring(s.children), "-s", address },
                listens = s:listens(),
                log = s.folder .. "/fcgiwrap.log",
            }),
            programs.nginx_fastcgi(s),
        }
    end,
}
