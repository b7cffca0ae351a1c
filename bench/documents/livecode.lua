-- 2016: CGI against a socket-proxied application server. Figures are the document's own.

return {
    name = "livecode",
    year = 2016,
    title = "CGI against an application server behind a socket",
    question = "How should a script language without a web server of its own be put behind nginx?",
    setting = "OpenResty 1.9.7.2 on a 2-core netbook, Ubuntu 14.04, client on the LAN; siege -b -c 100 -r 50 -q (5,000 transactions).",
    reading = "Pure Lua is twice as fast as Lua in front of the application server, which is nearly twice PHP in front of it; CGI is far behind.",
    today = "A small long-running Lua application server stands for the LiveCode one; the same four fronts, and this project's Lua `proxy` handler as a fifth.",
    advice = "Never start an interpreter for each request. After that, each hop costs about as much as the page itself: remove hops before tuning them.",
    clock_s = 0.01,
    comparisons = {
        {
            name = "page-c100",
            title = "Greeting page with version and date, 100 clients",
            page = "livecode",
            expect = { status = 200, starts = "<br /><p align='center'>Hello World from " },
            load = { connections = 100, requests = 5000, keep_alive = false, command = "siege -b -c 100 -r 50 -q" },
            arms = {
                { stack = "nginx-fcgiwrap",
                    published = { rate_per_s = 58.82, mean_ms = 1680, max_ms = 1840, min_ms = 110, total_s = 85.00, concurrency = 99.03, requests = 5000, failed = 0, non_2xx = 0 } },
                { stack = "nginx-php-proxy", tuned = true,
                    published = { rate_per_s = 2212.39, mean_ms = 40, max_ms = 80, min_ms = 0, total_s = 2.26, concurrency = 97.85, requests = 5000, failed = 0, non_2xx = 0 } },
                { stack = "nginx-lua-proxy", tuned = true,
                    published = { rate_per_s = 3875.97, mean_ms = 20, max_ms = 80, min_ms = 0, total_s = 1.29, concurrency = 95.12, requests = 5000, failed = 0, non_2xx = 0 } },
                { stack = "nginx-lua", tuned = true,
                    published = { rate_per_s = 7246.38, mean_ms = 10, max_ms = 370, min_ms = 0, total_s = 0.69, concurrency = 52.52, requests = 5000, failed = 0, non_2xx = 0 } },
                -- Told without a listing: two other machines in turn, "about 3000/s".
                { stack = "nginx-round-robin", published = { rate_per_s = 3000 } },
                { stack = "nginx-fcgi-proxy", documented = false, tuned = true },
            },
            claims = {
                { faster = "nginx-lua", slower = "nginx-lua-proxy" },
                { faster = "nginx-lua-proxy", slower = "nginx-php-proxy" },
                { faster = "nginx-php-proxy", slower = "nginx-fcgiwrap" },
            },
        },
    },
    experiments = { "coarse-clock" },
}
