return {
    title = "nginx -> uwsgi protocol -> uWSGI, Python processes (web.py)",
    needs = { "nginx", "uwsgi", "uwsgi-python3", "webpy" },
    blocking = true,
    pages = { static = "/static/hello.txt", david = "/david" },
    takes = { "children", "backlog", "tcp", "front_backlog", "workers", "access_log", "gzip" },
    variants = {
        documented = {
            options = { children = 1, backlog = 100, front_backlog = 511, access_log = true },
            reasons = {
                "one process: mod_wsgi ran the application inside nginx's only worker",
                "listen queue of 100, uWSGI's own; access log on",
            },
        },
        tuned = {
            options = { children = 4, backlog = 1024 },
            reasons = {
                "4 processes: every processor is busy while others wait in the kernel",
                "listen queue 1024: bursts wait instead of failing with 502; no access log",
            },
        },
    },
    build = function(s, programs)
        return { programs.uwsgi(s, "uwsgi"), programs.nginx(s, "uwsgi.conf", { upstream = { s:address() } }) }
    end,
}
