return {
    title = "nginx alone, static file from disk",
    needs = { "nginx" },
    pages = { static = "/static/hello.txt" },
    takes = { "front_backlog", "workers", "access_log", "gzip" },
    variants = {
        documented = {
            options = { access_log = true, front_backlog = 511 },
            reasons = { "access log on and nginx's own listen queue of 511, as packaged" },
        },
        tuned = {
            options = { access_log = false },
            reasons = {
                "no access log: a line per request",
                "listen queue 4096: bursts of clients wait instead of trying again after 1 s",
            },
        },
    },
    build = function(s, programs)
        return { programs.nginx(s, "static.conf") }
    end,
}
