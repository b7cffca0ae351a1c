-- 2013: PHP-FPM against Node.js against nginx-lua. Figures are the document's own.

return {
    name = "php-node-lua",
    year = 2013,
    title = "PHP-FPM against Node.js against nginx-lua",
    question = "Which stack answers `hello world` most often per second: PHP-FPM, Node.js or Lua inside nginx?",
    setting = "Xeon X5680 (24 threads), client on another machine (16 cores), 1 Gbit network; openresty 1.2.4.14, PHP 5.3.6, Node 0.8.16 "
        .. "(cluster, one process per CPU); ab -n 10000000 -c 100, no keep-alive; a small HTTP service recorded CPU, memory and network per process group.",
    reading = "Lua inside nginx and Node are nearly twice as fast as PHP-FPM.",
    today = "The same three, from Debian's packages, with this project's server and two references beside them: "
        .. "nginx alone (`return 200`) and nginx in front of a responder that does nothing but answer.",
    advice = "Watch the maximum, not the mean: 1, 3 and 9 seconds are a full accept queue, which a larger backlog or kept connections cure.",
    comparisons = {
        {
            name = "hello-c100",
            title = "hello world (12 bytes), 100 clients, a connection for each request",
            page = "echo",
            expect = { status = 200, bytes = 12, body = "hello world\n", type = "text/plain" },
            load = { connections = 100, requests = 10000000, keep_alive = false, command = "ab -n 10000000 -c 100" },
            arms = {
                { stack = "nginx-php-fpm", tuned = true,
                    published = { rate_per_s = 17400.61, mean_ms = 5.747, p50_ms = 6, p90_ms = 8, p99_ms = 11, max_ms = 127,
                        connect_max_ms = 6, requests = 10000000, failed = 0, non_2xx = 0 } },
                { stack = "node-cluster",
                    published = { rate_per_s = 31197.23, mean_ms = 3.205, p50_ms = 2, p90_ms = 3, p99_ms = 4, max_ms = 9002,
                        connect_max_ms = 9001, requests = 10000000, failed = 0, non_2xx = 0 } },
                { stack = "nginx-lua", tuned = true,
                    published = { rate_per_s = 32628.32, mean_ms = 3.065, p50_ms = 3, p90_ms = 3, p99_ms = 4, max_ms = 3003,
                        connect_max_ms = 3001, requests = 10000000, failed = 0, non_2xx = 0 } },
                { stack = "nginx-fcgi-c", documented = false, tuned = true },
                { stack = "nginx-fcgi-lua", documented = false, tuned = true },
                { stack = "nginx-floor", documented = false, tuned = true, reference = "floor" },
                { stack = "nginx-return", documented = false, tuned = true, reference = "front" },
            },
            claims = {
                { faster = "nginx-lua", slower = "nginx-php-fpm" },
                { faster = "node-cluster", slower = "nginx-php-fpm" },
                { faster = "nginx-lua", slower = "node-cluster" },
            },
        },
    },
    experiments = { "accept-queue" },
}
