-- 2008: nginx + mod_wsgi against lighttpd + FastCGI, both with web.py. Figures are the document's own.

local expect = { status = 200, bytes = 14, body = "Hello, david!\n" }

return {
    name = "wsgi-fastcgi",
    year = 2008,
    title = "nginx + WSGI against lighttpd + FastCGI, web.py",
    question = "Which way of hosting a Python page is faster, and what does keep-alive do?",
    setting = "nginx 0.5.34 with mod_wsgi; lighttpd 1.4.13 with FastCGI (web.py under flup); a laptop VM, client over the VM's network; "
        .. "ab 1.3d -c 10 -n 1000, with and without -k.",
    reading = "nginx/WSGI is three times as fast; keep-alive doubles nginx, and the author does not know why.",
    today = "nginx -> uWSGI -> web.py stands for mod_wsgi; lighttpd -> uWSGI's FastCGI socket -> web.py for flup; "
        .. "lighttpd -> this project's server shows what lighttpd itself can do.",
    advice = "Keep-alive saves a TCP connection for each request. For a page this small that is a large part of the work; for a real page it is not.",
    comparisons = {
        {
            name = "david-kept",
            title = "Greeting of 14 bytes, 10 clients, kept connections",
            page = "david",
            expect = expect,
            load = { connections = 10, requests = 1000, keep_alive = true, command = "ab -k -c 10 -n 1000" },
            arms = {
                { stack = "nginx-uwsgi", tuned = true,
                    published = { rate_per_s = 1030.93, mean_ms = 9.70, p50_ms = 9, p90_ms = 15, p99_ms = 22, max_ms = 26, requests = 1000, failed = 0, non_2xx = 0 } },
                { stack = "lighttpd-uwsgi", tuned = true,
                    published = { rate_per_s = 344.71, mean_ms = 29.01, p50_ms = 22, p90_ms = 48, p99_ms = 164, max_ms = 385, requests = 1000, failed = 1, non_2xx = 0 } },
                { stack = "lighttpd-fcgi", documented = false, tuned = true },
            },
            claims = { { faster = "nginx-uwsgi", slower = "lighttpd-uwsgi" } },
        },
        {
            name = "david-fresh",
            title = "Greeting of 14 bytes, 10 clients, a connection for each request",
            page = "david",
            expect = expect,
            load = { connections = 10, requests = 1000, keep_alive = false, command = "ab -c 10 -n 1000" },
            arms = {
                { stack = "nginx-uwsgi",
                    published = { rate_per_s = 420.52, mean_ms = 23.78, p50_ms = 21, p90_ms = 34, p99_ms = 47, max_ms = 142, requests = 1000, failed = 0, non_2xx = 0 } },
                { stack = "lighttpd-uwsgi",
                    published = { rate_per_s = 248.94, mean_ms = 40.17, p50_ms = 30, p90_ms = 61, p99_ms = 252, max_ms = 855, requests = 1000, failed = 1, non_2xx = 0 } },
                { stack = "lighttpd-fcgi", documented = false, tuned = true },
            },
            claims = { { faster = "nginx-uwsgi", slower = "lighttpd-uwsgi" } },
        },
    },
    -- What keep-alive buys: the same stack in two comparisons of this document.
    across = {
        { stack = "nginx-uwsgi", from = "david-fresh", to = "david-kept", says = "keep-alive on nginx" },
        { stack = "lighttpd-uwsgi", from = "david-fresh", to = "david-kept", says = "keep-alive on lighttpd" },
    },
}
