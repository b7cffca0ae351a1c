return {
    title = "lighttpd -> FastCGI, never kept -> uWSGI, Python processes (web.py)",
    needs = { "lighttpd", "uwsgi", "uwsgi-python3", "webpy" },
    blocking = true,
    pages = { static = "/static/hello.txt", david = "/david" },
    takes = { "children", "backlog", "front_backlog", "workers" },
    variants = {
        documented = {
            options = { children = 1, backlog = 100 },
            reasons = { "one process, as flup's; listen queue of 100, uWSGI's own" },
        },
        tuned = {
            options = { children = 4, backlog = 1024, front_backlog = 4096 },
            reasons = {
                "4 processes: every processor is busy while others wait in the kernel",
                "listen queues 4096 and 1024: bursts wait",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return {
            programs.uwsgi(s, "fastcgi"),
            programs.lighttpd(s, "fastcgi.conf", { socket = s.socket }),
        }
    end,
}
