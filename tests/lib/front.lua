-- SPDX-License-Identifier: MIT
--
-- front.lua - a real web server in front of a FastCGI address: nginx, Apache or lighttpd with a
-- small configuration of the test's own, or any of the six with the shipped one.
--
--   front.shipped(kind, {fcgi = address, keepalive = n, workers = n}) -> f: with conf/ as it is.
--     keepalive: idle connections to the server, 0 or nil: none is kept (lighttpd, Caddy: never)
--   front.six: their kinds, and front.keeps[kind]; front.missing(kind): nil, or why it cannot run
--
--   front.nginx{fcgi = address, keepalive = n, workers = n, location = "extra directives",
--               http = "extra", server = "extra"} -> f
--     files = folder: its files are served under /files/ (all three)
--   front.apache{fcgi = address, reuse = bool}    front.lighttpd{fcgi = address}
--   f.url, f.pid, f.dir, f:error_log(), f:access_log(), f:stop(signal), f:restart(), f.kind

local process = require("process")
local testing = require("testing")
local http = require("http")
local stat = require("posix.sys.stat")

local front = {}
local instance = {}
instance.__index = instance
local number = 0

local function quoted(text)
    return '"' .. text .. '"'
end

local PARAMS = {
    "QUERY_STRING $query_string", "REQUEST_METHOD $request_method", "CONTENT_TYPE $content_type",
    "CONTENT_LENGTH $content_length", "SCRIPT_NAME $fastcgi_script_name", "REQUEST_URI $request_uri",
    "DOCUMENT_URI $document_uri", "SERVER_PROTOCOL $server_protocol", "GATEWAY_INTERFACE CGI/1.1",
    "REMOTE_ADDR $remote_addr", "SERVER_NAME $server_name", "REQUEST_START $msec", 'HTTP_PROXY ""',
}

local function nginx_text(self, options)
    local params = {}
    for index, line in ipairs(PARAMS) do
        params[index] = "      fastcgi_param " .. line .. ";\n"
    end
    local upstream = options.fcgi:gsub("^unix:(.*)$", '"unix:%1"')
    local keep = options.keepalive
        and ("    keepalive " .. options.keepalive .. ";\n") or ""
    return table.concat {
        "daemon off;\nworker_processes ", options.workers or 1, ";\npid nginx.pid;\n",
        "error_log error.log ", options.error_level or "info", ";\n",
        "events { worker_connections ", options.connections or 1024, "; }\n",
        "http {\n  access_log access.log;\n  default_type text/plain;\n",
        "  client_body_temp_path body;\n  fastcgi_temp_path fcgi;\n  proxy_temp_path proxy;\n",
        "  uwsgi_temp_path uwsgi;\n  scgi_temp_path scgi;\n  client_max_body_size 64m;\n",
        options.http or "",
        "  upstream app {\n    server ", upstream, " max_fails=0;\n", options.upstream or "", keep, "  }\n",
        "  server {\n    listen 127.0.0.1:", self.port, " backlog=4096;\n", options.server or "",
        options.files and '    location /files/ { alias "' .. options.files .. '/"; }\n' or "",
        "    location / {\n      fastcgi_pass app;\n", options.keepalive and "      fastcgi_keep_conn on;\n" or "",
        table.concat(params), options.location or "", "    }\n  }\n}\n",
    }
end

local function apache_text(self, options)
    local target = options.fcgi:gsub("^unix:", "")
    local worker = options.fcgi:find("^unix:")
        and "unix:" .. target .. "|fcgi://localhost/" or "fcgi://" .. target .. "/"
    local modules = {}
    for _, name in ipairs { "mpm_event", "authz_core", "unixd", "log_config", "proxy", "proxy_fcgi" } do
        local path = "/usr/lib/apache2/modules/mod_" .. name .. ".so"
        if stat.stat(path) then
            modules[#modules + 1] = "LoadModule " .. name .. "_module " .. path .. "\n"
        end
    end
    local user = require("posix.unistd").geteuid() == 0 and "User www-data\nGroup www-data\n" or ""
    return table.concat {
        "ServerRoot ", quoted(self.dir), "\nServerName localhost\nListen 127.0.0.1:", self.port, "\n",
        table.concat(modules), user, "PidFile apache.pid\nErrorLog error.log\n",
        'LogFormat "%r %>s %b" plain\nCustomLog access.log plain\nLogLevel info\n',
        "DefaultRuntimeDir ", quoted(self.dir), "\nTimeout 30\nLimitRequestLine 100000\n",
        "<Proxy ", quoted(worker), ">\n  ProxySet enablereuse=", options.reuse and "on" or "off",
        options.reuse and " max=20" or "", "\n</Proxy>\n",
        options.files and 'LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so\nAlias "/files" '
            .. quoted(options.files) .. '\nProxyPass "/files" !\n<Directory ' .. quoted(options.files)
            .. ">\n  Require all granted\n</Directory>\n" or "",
        "ProxyPass ", quoted("/"), " ", quoted(worker), "\n", options.extra or "",
    }
end

local function lighttpd_text(self, options)
    local target = options.fcgi:match("^unix:(.*)$")
    local host, port = options.fcgi:match("^(.*):(%d+)$")
    return table.concat {
        'server.modules = ("mod_fastcgi", "mod_accesslog")\nserver.bind = "127.0.0.1"\n',
        "server.port = ", self.port, "\nserver.document-root = ", quoted(self.dir),
        '\nserver.errorlog = ', quoted(self.dir .. "/error.log"),
        '\naccesslog.filename = ', quoted(self.dir .. "/access.log"),
        "\nserver.upload-dirs = (", quoted(self.dir), ")\n",
        "server.max-request-field-size = 65535\n",
        options.files and 'server.modules += ("mod_alias")\nalias.url = ("/files/" => ' .. quoted(options.files .. "/")
            .. ')\n$HTTP["url"] !~ "^/files/" {\n' or "",
        'fastcgi.server = ("/" => (("check-local" => "disable", "fix-root-scriptname" => "enable", ',
        target and ('"socket" => ' .. quoted(target))
            or ('"host" => ' .. quoted(host) .. ', "port" => ' .. port),
        ")))\n", options.files and "}\n" or "", options.extra or "",
    }
end

local kinds = {
    nginx = {
        text = nginx_text, file = "nginx.conf",
        command = function(dir)
            return { "nginx", "-p", dir, "-e", dir .. "/error.log", "-c", dir .. "/nginx.conf" }
        end,
    },
    apache = {
        text = apache_text, file = "apache.conf",
        command = function(dir)
            return { "apache2", "-f", dir .. "/apache.conf", "-DFOREGROUND" }
        end,
    },
    lighttpd = {
        text = lighttpd_text, file = "lighttpd.conf",
        command = function(dir)
            return { "lighttpd", "-D", "-f", dir .. "/lighttpd.conf" }
        end,
    },
}

local function run(self)
    local command = self.command
    command.stderr, command.stdout = self.start_log, self.start_log
    command.nofile = self.options.nofile
    self.pid = process.spawn(command)
    local connect = require("fcgi").connect
    local up = process.poll(10, function()
        local c = connect("127.0.0.1:" .. self.port)
        if c then
            c:close()
            return true
        end
        return not process.alive(self.pid) and "dead"
    end)
    if up ~= true then
        error(self.kind .. " did not start: " .. (process.read_file(self.start_log) or "") .. self:error_log())
    end
    return self
end

local function new(kind, options)
    number = number + 1
    local self = setmetatable({
        kind = kind, dir = testing.dir .. "/" .. kind .. "-" .. number, port = testing.free_port(), options = options,
    }, instance)
    self.start_log = self.dir .. "/start.log"
    assert(stat.mkdir(self.dir, 511))
    -- The web server's workers may run as another user and need to get through.
    process.run { "chmod", "755", testing.dir, self.dir }
    local path = options.fcgi:match("^unix:(.*)$")
    if path and require("posix.unistd").geteuid() == 0 then
        process.run { "chmod", "666", path }
    end
    self.url = "http://127.0.0.1:" .. self.port
    return self
end

local function start(kind, options)
    local self, row = new(kind, options), kinds[kind]
    process.write_file(self.dir .. "/" .. row.file, row.text(self, options))
    self.command = row.command(self.dir)
    return run(self)
end

for kind in pairs(kinds) do
    front[kind] = function(options)
        return start(kind, options)
    end
end

front.kinds = { "nginx", "apache", "lighttpd" }
front.six = { "nginx", "apache", "lighttpd", "haproxy", "h2o", "caddy" }
front.keeps = { nginx = true, apache = true, haproxy = true, h2o = true }

-- The suite's constructors, which run what conf/ has.
package.path = testing.root .. "/?.lua;" .. package.path
local function suite()
    return require("bench.suite.bring_up.programs"), require("bench.suite.bring_up.assembly")
end

local CONSTRUCTORS = {
    nginx = "nginx_fastcgi", apache = "apache_fastcgi", haproxy = "haproxy", h2o = "h2o", caddy = "caddy",
    lighttpd = function(s, programs)
        return programs.lighttpd(s, "fastcgi.conf", { socket = s.socket })
    end,
}

function front.missing(kind)
    local path, reason = suite().find(kind, testing.root)
    return not path and reason or nil
end

function front.shipped(kind, options)
    local self = new(kind, options)
    local programs, assembly = suite()
    local s = assembly.new({ name = kind, pages = {}, takes = {} }, {
        dir = self.dir, port = self.port, children = options.keepalive, keepalive = options.keepalive or 0,
        workers = options.workers,
    }, testing.root)
    s.socket, s.tcp_port = options.fcgi:match("^unix:(.*)$"), tonumber(options.fcgi:match("^127%.0%.0%.1:(%d+)$"))
    programs.copy_pages(testing.root .. "/bench/pages", self.dir .. "/pages")
    local constructor = CONSTRUCTORS[kind]
    local program = (programs[constructor] or constructor)(s, programs)
    self.command = { env = program.env, cwd = self.dir, unpack(program.argv) }
    self.start_log = program.log
    return run(self)
end

function instance:get(path, options)
    return http.get(self.url .. path, options)
end

function instance:error_log()
    return (process.read_file(self.dir .. "/error.log") or "")
        .. (not self.start_log:find("/error%.log$") and process.read_file(self.start_log) or "")
end

function instance:access_log()
    return process.read_file(self.dir .. "/access.log") or ""
end

function instance:stop(name)
    return process.finish(self.pid, name or "TERM", 10)
end

-- Starts it again on the same port, after stop().
function instance:restart()
    return run(self)
end

return front
