-- Reference: what nginx does by itself, without a file or an application.
return {
    title = "nginx alone, a text of its configuration (return 200)",
    needs = { "nginx" },
    pages = { echo = "/return" },
    takes = { "front_backlog", "workers", "access_log", "gzip" },
    variants = {
        documented = {
            options = { access_log = true, front_backlog = 511 },
            reasons = { "access log on, as packaged" },
        },
        tuned = {
            options = { access_log = false },
            reasons = { "no access log: a line per request" },
        },
    },
    build = function(s, programs)
        return { programs.nginx(s, "static.conf") }
    end,
}
