-- 2009: nginx + spawn-fcgi + v8cgi against Apache + mod_php. Figures are the document's own: one
-- ApacheBench run each on the author's machine.

return {
    name = "v8cgi-mod_php",
    year = 2009,
    title = "nginx + V8 behind FastCGI against Apache + mod_php",
    question = "Is JavaScript on V8 behind FastCGI a match for PHP inside Apache?",
    setting = "nginx 0.8.19 (1 worker, gzip on, access log on) -> FastCGI on TCP 127.0.0.1:9000 -> v8cgi started by "
        .. "`spawn-fcgi -F 1024`; Apache 2.2.12 with mod_php (PHP 5), mod_deflate and access log on; ApacheBench 2.3 on the same host.",
    reading = "The interpreters are about equal; \"nginx never fails when Apache mostly did\".",
    today = "V8 is Node's, behind FastCGI (node-fastcgi under spawn-fcgi); beside it this project's own server with C and Lua handlers. "
        .. "1,024 Node processes would need some 40 GB, so Node runs with fewer children; fcgi-server is measured with the 1,024.",
    advice = "Count only verified answers. Choose by the page: a short greeting measures the plumbing, a 68 kB table measures the interpreter.",

    programs = {
        name = "interpreters",
        title = "Interpreters as whole processes",
        rows = {
            { program = "loop", what = "prints a blank and the number for 0 to 999,998", output_bytes = 6888883 },
            { program = "index", what = "adds z*z mod 1000 into 1,000 slots for z = 0 to 999,998 and joins them" },
            { program = "concat", what = "builds the table page with max = 999 by string concatenation, prints nothing" },
        },
        interpreters = {
            -- The buffer is what php.ini-production sets: without it every echo is a system call.
            { name = "php", command = { "php", "-d", "output_buffering=4096" }, suffix = "php", title = "PHP" },
            { name = "node", command = { "node" }, suffix = "js", title = "Node (V8)" },
            { name = "luajit", command = { "luajit" }, suffix = "lua", title = "LuaJIT" },
        },
        -- real, user, system seconds
        published = {
            loop = { php = { 0.833, 0.712, 0.104 }, node = { 0.696, 0.668, 0.004 } },
            index = { php = { 0.660, 0.604, 0.040 }, node = { 0.319, 0.308, 0.008 } },
            concat = { php = { 0.621, 0.576, 0.036 }, node = { 0.831, 0.696, 0.092 } },
        },
        published_names = { php = "PHP 5", node = "v8cgi" },
        reading = "About equal; PHP faster at concatenation, V8 faster at indexing.",
    },

    comparisons = {
        {
            name = "greeting-c10",
            title = "Greeting page, 10 clients",
            page = "hello",
            expect = { status = 200, bytes = 19, body = "<h1>Hello john</h1>", type = "text/html" },
            load = { connections = 10, requests = 5000, keep_alive = false, command = "ab -n 5000 -c 10" },
            arms = {
                { stack = "apache-mod-php", tuned = true,
                    published = { rate_per_s = 2645.16, mean_ms = 3.780, p50_ms = 4, p90_ms = 4, p99_ms = 6, max_ms = 11,
                        requests = 5000, failed = 4978, failed_kind = "length", non_2xx = 4980 } },
                { stack = "nginx-node-fastcgi", tuned = true,
                    published = { rate_per_s = 204.51, mean_ms = 48.897, p50_ms = 35, p90_ms = 113, p99_ms = 183, max_ms = 277,
                        requests = 5000, failed = 0, non_2xx = 0, children = 1024 } },
                { stack = "nginx-fcgi-lua", documented = true, tuned = true },
                { stack = "nginx-fcgi-c", tuned = true, documented = false },
            },
            claims = { { faster = "apache-mod-php", slower = "nginx-node-fastcgi" } },
        },
        {
            name = "greeting-c1",
            title = "Greeting page, 1 client",
            page = "hello",
            expect = { status = 200, bytes = 19, body = "<h1>Hello john</h1>", type = "text/html" },
            load = { connections = 1, requests = 5000, keep_alive = false, command = "ab -n 5000 -c 1" },
            arms = {
                { stack = "apache-mod-php",
                    published = { rate_per_s = 2551.83, mean_ms = 0.392, p50_ms = 0, p90_ms = 0, p99_ms = 1, max_ms = 7,
                        requests = 5000, failed = 0, non_2xx = 5000 } },
                { stack = "nginx-node-fastcgi" },
            },
            measure = { rounds = 3 }, -- no claim depends on it
            claims = {},
        },
        {
            name = "table-c10",
            title = "Table page of 67,840 bytes, 10 clients",
            page = "table",
            expect = { status = 200, bytes = 67840, starts = "<table><tr></tr><tr><td>1 0</td></tr>", type = "text/html" },
            load = { connections = 10, requests = 50, keep_alive = false, command = "ab -n 50 -c 10" },
            arms = {
                { stack = "apache-mod-php", tuned = true,
                    published = { rate_per_s = 1258.34, mean_ms = 7.947, requests = 50, failed = 1, failed_kind = "length", non_2xx = 50 } },
                { stack = "nginx-node-fastcgi", documented = true, tuned = true },
                { stack = "nginx-fcgi-lua", documented = false, tuned = true },
                { stack = "nginx-fcgi-c", documented = false, tuned = true },
            },
            measure = { rounds = 3 }, -- no claim depends on it
            claims = {},
        },
        {
            name = "table-c1",
            title = "Table page of 67,840 bytes, 1 client",
            page = "table",
            expect = { status = 200, bytes = 67840, starts = "<table><tr></tr><tr><td>1 0</td></tr>", type = "text/html" },
            load = { connections = 1, requests = 50, keep_alive = false, command = "ab -n 50 -c 1" },
            arms = {
                { stack = "apache-mod-php",
                    published = { rate_per_s = 248.32, mean_ms = 4.027, requests = 50, failed = 32, failed_kind = "length", non_2xx = 32 } },
                { stack = "nginx-node-fastcgi",
                    published = { rate_per_s = 20.37, mean_ms = 49.094, requests = 50, failed = 0, non_2xx = 0, children = 1024 } },
                { stack = "nginx-fcgi-lua", documented = { children = 4 } },
            },
            claims = { { faster = "apache-mod-php", slower = "nginx-node-fastcgi" } },
        },
        {
            name = "globals-c1000",
            title = "Page that prints all global variables, 1,000 clients",
            page = "globals",
            expect = { status = 200 },
            load = { connections = 1000, requests = 2000, keep_alive = false, command = "ab -n 2000 -c 1000" },
            arms = {
                { stack = "nginx-node-fastcgi",
                    published = { rate_per_s = 542.06, mean_ms = 1844.801, requests = 2000, failed = 482, failed_kind = "length",
                        non_2xx = 482, children = 1024 } },
                { stack = "nginx-fcgi-lua", documented = true, tuned = true },
            },
            measure = { rounds = 3 }, -- no claim depends on it
            claims = {},
        },
        {
            name = "gzip",
            title = "The table page, compressed and not",
            page = "table",
            expect = { status = 200 },
            headers = { "Accept-Encoding: gzip" },
            load = { connections = 10, requests = 50, keep_alive = false, command = "ab -n 50 -c 10 -H 'Accept-Encoding: gzip'" },
            arms = {
                { stack = "nginx-fcgi-lua", label = "plain", documented = { gzip = false, children = 4 },
                    expect = { bytes = 67840, type = "text/html" } },
                { stack = "nginx-fcgi-lua", label = "gzip", documented = { gzip = true, children = 4 },
                    expect = { encoding = "gzip", type = "text/html" } },
            },
            claims = {},
            about = "The document's nginx compressed its answers. Compression trades processor time for bytes on the wire.",
        },
    },

    experiments = { "error-pages", "length-failures", "backlog-502" },
}
