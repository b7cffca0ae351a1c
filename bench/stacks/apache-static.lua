return {
    title = "Apache prefork alone, static file from disk",
    needs = { "apache" },
    pages = { static = "/static/hello.txt" },
    takes = { "children", "front_backlog", "access_log", "gzip" },
    variants = {
        documented = {
            options = { children = 150, access_log = true },
            reasons = {
                "150 children: Apache's own MaxClients then",
                "access log on, listen queue of 511, as packaged",
            },
        },
        tuned = {
            options = { children = 64, front_backlog = 4096 },
            reasons = {
                "64 children: a file takes microseconds, more processes only compete for the caches",
                "listen queue 4096: bursts of clients wait instead of trying again after 1 s",
                "no access log: a line per request",
            },
        },
    },
    build = function(s, programs)
        return { programs.apache(s, "static.conf") }
    end,
}
