return {
    title = "nginx -> FastCGI -> fcgi-server without a master, children of spawn-fcgi",
    needs = { "nginx", "spawn-fcgi", "fcgi-server" },
    blocking = true, -- children have no master to pass idle connections on through
    pages = {
        static = "/static/hello.txt",
        echo = "/echo",
        light = "/light",
        david = "/david",
        hello = "/hello?name=john",
        slow = "/sleep",
        table = "/table",
    },
    pool = "spawn-fcgi",
    -- nginx notices a closed idle connection when it writes, and sends the request again: nothing is lost.
    log_noise = { "writev%(%) failed %(32: Broken pipe%) while sending request to upstream" },
    takes = { "children", "backlog", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip", "engine", "config" },
    variants = {
        documented = {
            options = {
                children = 1024, backlog = 1024, front_backlog = 511, tcp = true,
                access_log = true, gzip = true,
            },
            reasons = {
                "spawn-fcgi -F 1024 on a TCP port with its own listen queue of 1024, as in the document",
                "a connection for each request, access log and gzip on",
            },
        },
        tuned = {
            options = { children = 4, backlog = 4096, keepalive = 4 },
            reasons = {
                "4 children, and no more kept connections: without a master they cannot pass them on",
                "unix socket; listen queue 4096; no access log, no compression",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        local argv = programs.fcgi_server_words(s)
        argv[#argv + 1] = "-n"
        argv[#argv + 1] = "0"
        if s.options.engine then
            argv[#argv + 1] = "-e"
            argv[#argv + 1] = s.options.engine
        end
        return { programs.spawn_fcgi(s, argv, { name = "fcgi-server" }), programs.nginx_fastcgi(s) }
    end,
}
