-- Two application hosts with network stacks of their own (namespaces), each with nginx, PHP-FPM
-- and the application server; an nginx in front of both takes them in turn.

local unistd = require("posix.unistd")

local HOSTS = 2
local HOST_PORT = 8080

-- 198.18.0.0/15 is set aside for benchmarks between networks (RFC 2544). A block of four
-- addresses for each host, told apart by the front server's port, of which there is but one.
local function addresses(port, host)
    local block = (port % 16384) * 8 + (host - 1) * 4
    local prefix = ("198.%d.%d."):format(18 + math.floor(block / 65536), math.floor(block / 256) % 256)
    return prefix .. (block % 256 + 1), prefix .. (block % 256 + 2)
end

return {
    title = "nginx -> HTTP -> two hosts in turn, each with the chain of nginx-php-proxy",
    needs = { "nginx", "php-fpm", "luajit", "ip" },
    unavailable = function()
        return unistd.geteuid() ~= 0 and "not available (needs root for network namespaces)" or nil
    end,
    pages = { livecode = "/php/livecode.php" },
    takes = { "children", "backlog", "keepalive", "tcp", "front_backlog", "workers", "access_log", "gzip", "opcache" },
    variants = {
        documented = {
            options = {
                children = 5, backlog = 511, front_backlog = 511, access_log = true, opcache = false,
                keepalive = 1,
            },
            reasons = { "each host as in nginx-php-proxy, documented" },
        },
        tuned = {
            options = { children = 8, backlog = 1024, keepalive = 32 },
            reasons = { "each host as in nginx-php-proxy, tuned", "32 connections to the hosts are kept" },
        },
    },
    build = function(s, programs)
        local list, upstream = {}, {}
        for number = 1, HOSTS do
            local ours, its = addresses(s.port, number)
            local host = s:part("host-" .. number, its, HOST_PORT)
            host.keepalive = s.options.opcache == false and 0 or host.children
            local pid_file = host.folder .. "/host.pid"
            local script = s.root .. "/bench/suite/bring_up/network-host"
            local function on_host(program, ...)
                program.name = host.name .. "-" .. program.name
                program.front = nil -- behind the one that takes the hosts in turn
                program.argv = { script, ... }
                return program
            end
            local function add(program)
                local make = { "make", pid_file, ("st%d-%d"):format(s.port, number), ours, its, "--" }
                local words = #list == (number - 1) * 3 and make or { "join", pid_file, "--" }
                for _, word in ipairs(program.argv) do
                    words[#words + 1] = word
                end
                list[#list + 1] = on_host(program, unpack(words))
            end
            local server, address = programs.app_server(host)
            add(server)
            add(programs.php_fpm(host, { application_server = address }))
            add(programs.nginx_fastcgi(host))
            upstream[number] = its .. ":" .. HOST_PORT
        end
        list[#list + 1] = programs.nginx(s, "proxy.conf", { upstream = upstream })
        return list
    end,
}
