return {
    title = "nginx -> FastCGI -> PHP-FPM, PHP that asks an application server over TCP",
    needs = { "nginx", "php-fpm", "luajit" },
    blocking = true,
    pages = { livecode = "/php/livecode.php" },
    takes = { "children", "backlog", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip", "opcache" },
    variants = {
        documented = {
            options = { children = 5, backlog = 511, front_backlog = 511, access_log = true, opcache = false },
            reasons = { "5 children, listen queues of 511, access log on, as packaged; no opcode cache in PHP 5" },
        },
        tuned = {
            options = { children = 8, backlog = 1024, keepalive = 8 },
            reasons = {
                "8 children and as many kept connections (keepalive x workers <= children)",
                "opcode cache: the page is compiled once",
                "no access log: a line per request",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        local server, address = programs.app_server(s)
        return { server, programs.php_fpm(s, { application_server = address }), programs.nginx_fastcgi(s) }
    end,
}
