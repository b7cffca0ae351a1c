return {
    title = "nginx -> FastCGI -> Node.js (V8) processes, children of spawn-fcgi",
    needs = { "nginx", "spawn-fcgi", "node", "node-fastcgi" },
    pages = {
        echo = "/echo",
        light = "/light",
        david = "/david",
        hello = "/hello?name=john",
        slow = "/slow",
        table = "/table",
        globals = "/globals",
    },
    takes = { "children", "backlog", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip" },
    variants = {
        documented = {
            options = {
                children = 16, backlog = 1024, front_backlog = 511, tcp = true,
                access_log = true, gzip = true,
            },
            reasons = {
                "16 processes where the document had 1024: each Node process takes about 40 MB, 1024 would take 40 GB",
                "on a TCP port, access log and gzip on, as in the document; listen queue of 1024, what spawn-fcgi sets",
            },
        },
        tuned = {
            options = { children = "cpus", backlog = 4096 },
            reasons = {
                "one process per processor: each serves many connections at a time",
                "unix socket, but a connection for each request: node-fastcgi closes kept ones unasked (310 of 7000)",
                "listen queue 4096: bursts wait instead of failing with 502; no access log, no compression",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return {
            programs.spawn_fcgi(s, { s:find("node"), s.root .. "/bench/pages/js/fastcgi.js" }, {
                name = "node",
                env = { NODE_PATH = "/usr/share/nodejs" },
            }),
            programs.nginx_fastcgi(s),
        }
    end,
}
