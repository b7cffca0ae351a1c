-- About 2010: Apache against nginx on a static file, a light script and a slow script. Figures are the document's own.

return {
    name = "apache-nginx",
    year = 2010,
    title = "Apache against nginx: static file, light script, slow script",
    question = "Which web server carries 1,000 clients better, and does it matter how slow the script is?",
    setting = "A VPS with 512 MB, Debian lenny, client on the same host; Apache + mod_php against nginx + PHP under spawn-fcgi; "
        .. "ab -n 3000 -c 1000, no keep-alive.",
    reading = "nginx is better for static files and for slow scripts (\"non-blocking\"), \"but the many failed requests are a worry\".",
    today = "Apache prefork + mod_php and nginx -> php-cgi under spawn-fcgi from Debian's packages, 1,000 clients as then; the slow page sleeps 400 ms.",
    advice = "A blocking page has a ceiling of children / 0.4 s, whatever stands in front. Size the children for it, or do not block.",
    comparisons = {
        {
            name = "static",
            title = "Static file, 1,000 clients",
            page = "static",
            expect = { status = 200 },
            load = { connections = 1000, requests = 3000, keep_alive = false, command = "ab -n 3000 -c 1000" },
            arms = {
                { stack = "apache-static", tuned = true,
                    published = { rate_per_s = 3536.44, mean_ms = 282.770, total_s = 0.848, requests = 3000, failed = 0, non_2xx = 0, body_bytes = 10 } },
                { stack = "nginx-static", tuned = true,
                    published = { rate_per_s = 10100.43, mean_ms = 99.006, total_s = 0.297, requests = 3000, failed = 0, non_2xx = 0, body_bytes = 12 } },
            },
            claims = { { faster = "nginx-static", slower = "apache-static" } },
        },
        {
            name = "light",
            title = "Light script (echo, 4 bytes), 1,000 clients",
            page = "light",
            expect = { status = 200, bytes = 4, body = "echo" },
            load = { connections = 1000, requests = 3000, keep_alive = false, command = "ab -n 3000 -c 1000" },
            arms = {
                { stack = "apache-mod-php", tuned = true,
                    published = { rate_per_s = 2413.52, mean_ms = 414.332, total_s = 1.243, requests = 3000, failed = 0, non_2xx = 0, body_bytes = 4 } },
                { stack = "nginx-php-cgi", tuned = true,
                    published = { rate_per_s = 2110.57, mean_ms = 473.806, total_s = 1.421, requests = 3000, failed = 0, non_2xx = 0, body_bytes = 4 } },
                { stack = "nginx-fcgi-c", documented = false, tuned = true },
            },
            claims = { { faster = "apache-mod-php", slower = "nginx-php-cgi" } },
        },
        {
            name = "slow",
            title = "Slow script (400 ms sleep), 1,000 clients",
            page = "slow",
            expect = { status = 200 },
            load = { connections = 1000, requests = 3000, keep_alive = false, command = "ab -n 3000 -c 1000", wait_s = 0.4 },
            -- The kernel of then cut every listen queue to 128 (net.core.somaxconn), also spawn-fcgi's 1,024.
            -- One request for each client and round: a slot in seconds would end with the queues full.
            measure = { requests = 1000, timeout_s = 30, rounds = 3 },
            arms = {
                { stack = "apache-mod-php", tuned = { children = 400 },
                    published = { rate_per_s = 333.36, mean_ms = 2999.746, total_s = 8.999, requests = 3000, failed = 0, non_2xx = 0, body_bytes = 68 } },
                { stack = "nginx-php-cgi", documented = { backlog = 128 }, tuned = { children = 400 },
                    published = { rate_per_s = 843.87, mean_ms = 1185.013, total_s = 3.555, requests = 3000, failed = 801, failed_kind = "length", non_2xx = 2199 } },
                { stack = "nginx-fcgi-lua", documented = false, tuned = true, blocking = false },
            },
            claims = { { faster = "nginx-php-cgi", slower = "apache-mod-php" } },
        },
    },
    experiments = { "blocking-ceiling" },
}
