-- This project's own study: one pool behind six web servers. Nothing was published; what was expected
-- before it was measured stands as the claims.

local KEPT, FRESH = 64, 0

-- stack, name, what it keeps connections to the pool with (false: it never keeps any)
local FRONTS = {
    { "nginx-fcgi-c", "nginx", true },
    { "apache-fcgi-c", "Apache", true },
    { "lighttpd-fcgi", "lighttpd", false },
    { "haproxy-fcgi-c", "HAProxy", true },
    { "h2o-fcgi-c", "h2o", true },
    { "caddy-fcgi-c", "Caddy", false },
}

local WHY = {
    [KEPT] = "connections to the pool are kept",
    [FRESH] = "a connection to the pool for each request",
}

local function arm(front, keepalive)
    local stack, name, keeps = unpack(front)
    return {
        stack = stack,
        label = name .. (keepalive == KEPT and ", kept" or ", fresh"),
        documented = { variant = "tuned", keepalive = keeps and keepalive or nil },
        why = { "4 children; no access log, no compression; listen queues of 4096", WHY[keepalive] },
    }
end

local function arms()
    local list = {}
    for _, front in ipairs(FRONTS) do
        if front[3] then
            list[#list + 1] = arm(front, KEPT)
        end
        list[#list + 1] = arm(front, FRESH)
    end
    return list
end

return {
    name = "fronts",
    title = "One pool behind six web servers",
    question = "Which web server should stand in front of a FastCGI pool, and do kept connections to the pool pay?",
    setting = "nginx, Apache (event, mod_proxy_fcgi), lighttpd, HAProxy, h2o and Caddy from Debian's packages, each with one process or "
        .. "thread and the shipped configuration, in front of fcgi-server with 4 children on a unix socket; 32 clients on kept connections.",
    reading = "Kept connections pay where the answer is small; nginx is quicker than Apache and Caddy; with large bodies the copying "
        .. "counts and the web servers come closer together.",
    today = "Nothing to repeat: measured here for the first time. lighttpd and Caddy open a connection for each request, whatever is asked.",
    advice = "Keep connections to the pool if answers are small and the pool holds idle ones for nothing; with large bodies look at how "
        .. "the web server buffers instead.",
    comparisons = {
        {
            name = "answer-12",
            title = "Answer of 12 bytes, 32 clients",
            page = "echo",
            expect = { status = 200, bytes = 12, body = "hello world\n" },
            load = { connections = 32, requests = 50000, keep_alive = true },
            arms = arms(),
            claims = {
                { faster = "nginx, kept", slower = "nginx, fresh" },
                { faster = "Apache, kept", slower = "Apache, fresh" },
                { faster = "HAProxy, kept", slower = "HAProxy, fresh" },
                { faster = "h2o, kept", slower = "h2o, fresh" },
                { faster = "nginx, kept", slower = "Apache, kept" },
                { faster = "nginx, fresh", slower = "Caddy, fresh" },
            },
        },
        {
            name = "answer-67840",
            title = "Answer of 67,840 bytes, 32 clients",
            page = "table",
            expect = { status = 200, bytes = 67840 },
            load = { connections = 32, requests = 10000, keep_alive = true },
            arms = arms(),
            claims = {
                { faster = "nginx, kept", slower = "nginx, fresh" },
                { faster = "nginx, kept", slower = "Apache, kept" },
                { faster = "nginx, fresh", slower = "Caddy, fresh" },
            },
        },
        {
            name = "upload-100000",
            title = "POST of 100,000 bytes, 32 clients",
            page = "echo",
            expect = { status = 200, bytes = 12, body = "hello world\n" },
            load = { connections = 32, requests = 10000, keep_alive = true, post_bytes = 100000 },
            arms = arms(),
            claims = {
                { faster = "nginx, kept", slower = "nginx, fresh" },
                { faster = "nginx, kept", slower = "Apache, kept" },
                { faster = "nginx, fresh", slower = "Caddy, fresh" },
            },
        },
    },
}
