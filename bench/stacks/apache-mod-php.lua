return {
    title = "Apache prefork, PHP inside each process (mod_php)",
    needs = { "apache", "mod-php" },
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
    takes = { "children", "front_backlog", "access_log", "gzip", "opcache" },
    variants = {
        documented = {
            options = { children = 150, access_log = true, gzip = true, opcache = false },
            reasons = {
                "150 children: Apache's own MaxClients then; 3000 slow pages of 0.4 s in 9.0 s are 133 at a time",
                "access log and mod_deflate on, listen queue of 511, as in the documents",
                "no opcode cache: PHP 5 compiled the page for each request",
            },
        },
        tuned = {
            options = { children = 64, front_backlog = 4096 },
            reasons = {
                "64 children: enough for a page that computes; a page that sleeps wants as many as there are clients",
                "opcode cache: the page is compiled once",
                "listen queue 4096: bursts of clients wait instead of trying again after 1 s",
                "no access log: a line per request; no compression: small answers grow by it",
            },
        },
    },
    build = function(s, programs)
        return { programs.apache(s, "php.conf", { env = programs.php_environment(s) }) }
    end,
}
