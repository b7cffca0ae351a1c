return {
    title = "nginx -> FastCGI -> PHP-FPM, a fixed number of children",
    needs = { "nginx", "php-fpm" },
    blocking = true,
    pages = {
        static = "/static/hello.txt",
        echo = "/php/echo.php",
        light = "/php/light.php",
        david = "/php/david.php",
        hello = "/php/hello.php?name=john",
        slow = "/php/slow.php",
        table = "/php/table.php",
        globals = "/php/globals.php",
    },
    pool = "php-fpm",
    takes = { "children", "backlog", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip", "opcache" },
    variants = {
        documented = {
            options = { children = 5, backlog = 511, front_backlog = 511, access_log = true, opcache = false },
            reasons = {
                "5 children: what the package of PHP-FPM sets; the document names no count",
                "listen queues of 511 on both sides, access log on, as packaged",
                "no opcode cache: PHP 5.3 compiled the page for each request",
            },
        },
        tuned = {
            options = { children = 8, backlog = 1024, keepalive = 8 },
            reasons = {
                "8 children: enough to keep every processor busy while others wait in the kernel",
                "8 kept connections for 8 children (keepalive x workers <= children): no connect and close each time",
                "opcode cache without looking at the file: the page is compiled once",
                "listen queue 1024: bursts wait instead of failing with 502",
                "no access log: a line per request",
            },
        },
    },
    build = function(s, programs)
        s.fcgi = s:fcgi_url()
        return { programs.php_fpm(s), programs.nginx_fastcgi(s) }
    end,
}
