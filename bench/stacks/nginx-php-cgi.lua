return {
    title = "nginx -> FastCGI -> php-cgi, children of one PHP parent under spawn-fcgi",
    needs = { "nginx", "spawn-fcgi", "php-cgi" },
    blocking = true,
    pages = {
        static = "/static/hello.txt",
        echo = "/php/echo.php",
        light = "/php/light.php",
        hello = "/php/hello.php?name=john",
        slow = "/php/slow.php",
        table = "/php/table.php",
    },
    pool = "php-cgi",
    takes = {
        "children", "backlog", "keepalive", "tcp",
        "front_backlog", "workers", "access_log", "gzip", "opcache", "max_requests",
    },
    variants = {
        documented = {
            options = {
                children = 90, backlog = 1024, front_backlog = 511, access_log = true, opcache = false,
                max_requests = 500,
            },
            reasons = {
                "90 children: what the published slow page shows (801 real answers of 0.4 s in 3.6 s are 90 at a time)",
                "listen queue of 1024, what spawn-fcgi sets; children end after 500 requests, what php-cgi sets",
                "no opcode cache: PHP 5 compiled the page for each request; access log on",
            },
        },
        tuned = {
            options = { children = 8, backlog = 4096, keepalive = 8 },
            reasons = {
                "8 children for a page that computes; a page that sleeps wants as many as there are clients",
                "kept connections, 8 for 8 children (keepalive x workers <= children)",
                "opcode cache: the page is compiled once for all children of the parent",
                "children live on: ending after 500 requests, as is the default, costs a fork and some failed requests",
                "listen queue 4096: bursts wait instead of failing with 502; no access log",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        -- One parent that keeps PHP_FCGI_CHILDREN children alive, the customary way: with -F N each
        -- would have its own opcode cache and nobody would replace it.
        local env = programs.php_environment(s)
        env.PHP_FCGI_CHILDREN = tostring(s.children)
        env.PHP_FCGI_MAX_REQUESTS = tostring(s.options.max_requests or 1000000000)
        return {
            programs.spawn_fcgi(s, { s:find("php-cgi") }, { name = "php-cgi", env = env, forks = 1 }),
            programs.nginx_fastcgi(s),
        }
    end,
}
