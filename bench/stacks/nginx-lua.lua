return {
    title = "nginx alone, Lua (LuaJIT) in its workers",
    needs = { "nginx", "nginx-lua" },
    pages = {
        static = "/static/hello.txt",
        echo = "/lua/echo",
        light = "/lua/light",
        david = "/lua/david",
        hello = "/lua/hello?name=john",
        slow = "/lua/slow",
        table = "/lua/table",
        globals = "/lua/globals",
        livecode = "/lua/livecode",
    },
    takes = { "front_backlog", "workers", "access_log", "gzip" },
    variants = {
        documented = {
            options = { access_log = true, front_backlog = 511 },
            reasons = { "access log on and a listen queue of 511, as packaged" },
        },
        tuned = {
            options = { access_log = false },
            reasons = {
                "no access log: a line per request",
                "listen queue 4096: bursts of clients wait instead of trying again after 1 and 3 s",
            },
        },
    },
    build = function(s, programs)
        return { programs.nginx(s, "lua.conf") }
    end,
}
