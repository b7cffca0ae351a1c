return {
    title = "nginx -> fcgiwrap -> CGI script",
    needs = { "nginx", "fcgiwrap", "luajit" },
    blocking = true,
    unreaped = true,
    pages = { static = "/static/hello.txt", livecode = "/cgi/livecode" },
    variants = {
        documented = {
            options = { children = 1, backlog = 511, front_backlog = 511, access_log = true },
            reasons = {
                "one fcgiwrap process, as its package starts it: the published rate is one script at a time",
                "access log on",
            },
        },
        tuned = {
            options = { children = 4, backlog = 511 },
            reasons = { "4 processes: scripts run on every processor", "no access log" },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return {
            s:program({
                name = "fcgiwrap",
                argv = { s:find("fcgiwrap"), "-f", "-c", tostring(s.children), "-s", s:address() },
                listens = s:listens(),
                log = s.folder .. "/fcgiwrap.log",
            }),
            programs.nginx_fastcgi(s),
        }
    end,
}
