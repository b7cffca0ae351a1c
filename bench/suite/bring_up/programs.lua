-- The programs that stacks are made of: how each is found, configured from conf/ and started in
-- the foreground. Each constructor takes the stack under way (see stack.lua) and returns a program
-- for keeper.lua.

local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local files = require("bench.suite.system.files")
local which = require("bench.suite.system.which")

local programs = {}

-- The programs of the shipped stacks. name -> package (of Debian), commands (names that it goes by;
-- default its own), file (it is a file and not a command), build (made here), version (the word that
-- makes it print its version). A stack may bring entries of its own (see stack.lua).
local CATALOGUE = {
    nginx = { package = "nginx-core", version = "-v" },
    ["nginx-lua"] = { package = "libnginx-mod-http-lua", file = "/usr/lib/nginx/modules/ngx_http_lua_module.so" },
    apache = { package = "apache2-bin", commands = { "apache2" }, version = "-v" },
    ["mod-php"] = { package = "libapache2-mod-php", file = "/usr/lib/apache2/modules/libphp*.so" },
    ["php-fpm"] = { package = "php-fpm", commands = { "php-fpm", "php-fpm*.*" }, version = "-v" },
    ["php-cgi"] = { package = "php-cgi", version = "-v" },
    node = { package = "nodejs", version = "--version" },
    ["node-fastcgi"] = { package = "node-fastcgi", file = "/usr/share/nodejs/node-fastcgi/index.js" },
    uwsgi = { package = "uwsgi-core", commands = { "uwsgi-core", "uwsgi" }, version = "--version" },
    ["uwsgi-python3"] = { package = "uwsgi-plugin-python3", file = "/usr/lib/uwsgi/plugins/python3_plugin.so" },
    webpy = { package = "python3-webpy", file = "/usr/lib/python3/dist-packages/web/__init__.py" },
    lighttpd = { package = "lighttpd", version = "-v" },
    haproxy = { package = "haproxy", version = "-v" },
    h2o = { package = "h2o", version = "-v" },
    caddy = { package = "caddy", version = "version" },
    fcgiwrap = { package = "fcgiwrap" },
    ["spawn-fcgi"] = { package = "spawn-fcgi" },
    luajit = { package = "luajit2 or luajit", version = "-v" },
    ip = { package = "iproute2" },
    ["fcgi-server"] = { build = true },
    ["floor-responder"] = { build = true },
    ["libfcgi-loop"] = { build = true },
}

--- Path of the program <name>: nil and "not installed (package X)" when there is none. Names that
-- are neither in <own> (entries that a stack brings) nor in the catalogue are looked for as commands.
function programs.find(name, root, own)
    local entry = (own or {})[name] or CATALOGUE[name] or {}
    if entry.build then
        local build = os.getenv("BUILD") or "build"
        local path = (build:sub(1, 1) == "/" and build or root .. "/" .. build) .. "/" .. name
        return unistd.access(path, "x") and path or nil, "not built (run make)"
    end
    local found = entry.file and which.file(entry.file)
    for _, command in ipairs(entry.file and {} or entry.commands or { name }) do
        found = found or which.program(command)
    end
    return found or nil, "not installed (package " .. (entry.package or name) .. ")"
end

--- Is <name> a program that this project builds?
function programs.built(name)
    return (CATALOGUE[name] or {}).build or false
end

--- How the version of <name> is asked for: an argv; nil when it has none or is not installed.
function programs.version_command(name, root, own)
    local entry = (own or {})[name] or CATALOGUE[name] or {}
    local path = entry.version and programs.find(name, root, own)
    return path and { path, entry.version }
end

local HEAD = "# Written for one run. The file of this name under conf/ has the reasons.\n"

local function yes(value)
    return value and "on" or "off"
end

-- nginx's idea of a string with anything in it.
local function quoted(text)
    return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

local function as_root()
    return unistd.geteuid() == 0
end

local function nginx_http(options)
    return (options.access_log and "access_log access.log combined buffer=64k flush=1s;\n" or "access_log off;\n")
        .. "keepalive_timeout 65s;\nkeepalive_requests 100000;\n"
        .. "gzip " .. yes(options.gzip) .. ";\n"
        .. (options.gzip and "gzip_types text/plain text/css text/javascript;\n" or "")
end

local function nginx_upstream(addresses)
    local lines = {}
    for _ = 1, #addresses == 1 and 2 or 1 do
        for _, address in ipairs(addresses) do
            lines[#lines + 1] = "server " .. quoted(address) .. " max_fails=0;\n"
        end
    end
    return table.concat(lines)
end

-- The values of conf/nginx/local/, from the stack's options.
local function nginx_values(s, upstream)
    local opts = s.options
    return {
        -- The pages of a checkout in a root-only home can be read by root alone, and the sockets
        -- of the run are root's: as root the workers stay root. Everything is on loopback.
        main = "worker_processes " .. (opts.workers or 1) .. ";\n" .. (as_root() and "user root;\n" or ""),
        listen = ("listen %s:%d backlog=%d;\n"):format(
            s.address_of_front or "127.0.0.1", s.port, opts.front_backlog or 4096),
        http = nginx_http(opts),
        upstream = nginx_upstream(upstream),
        keepalive = ("keepalive %d;\nkeepalive_requests 100000;\nkeepalive_timeout 60s;\n"):format(
            math.max(1, s.keepalive)),
    }
end

--- nginx with conf/nginx/<config>. options: upstream (addresses as nginx writes them), env.
function programs.nginx(s, config, options)
    options = options or {}
    local conf = s.folder .. "/conf"
    s:link_tree("conf/nginx", conf, "local")
    for name, text in pairs(nginx_values(s, options.upstream or { "unix:none.sock" })) do
        s:write(conf .. "/local/" .. name .. ".conf", HEAD .. text)
    end
    s.logs.error_log = s.folder .. "/error.log"
    s.logs.access_log = s.options.access_log and s.folder .. "/access.log" or nil
    s:config(conf .. "/" .. config)
    return s:program({
        name = "nginx",
        front = true,
        argv = { s:find("nginx"), "-p", s.folder, "-e", "error.log", "-c", "conf/" .. config, "-g", "daemon off;" },
        env = options.env,
        listens = s.port,
        log = s.logs.error_log,
    })
end

--- The file for requests that end up in a FastCGI application, with or without kept connections.
function programs.nginx_fastcgi(s)
    local config = s.keepalive > 0 and "fastcgi-keepalive.conf" or "fastcgi.conf"
    return programs.nginx(s, config, { upstream = { s:address() } })
end

--- The first words of this project's server: its configuration, the stack's own or the shipped one. A
-- configuration of the user's does not touch the pid file and the control socket of the server that it is for.
function programs.fcgi_server_words(s)
    local words = { s:find("fcgi-server"), "-c", s.options.config or s.root .. "/conf/fcgi-server.lua" }
    if s.options.config then
        words[#words + 1] = "--pid-file="
        words[#words + 1] = "--control="
        s:config(s.options.config)
    end
    return words
end

--- This project's server. options: routes (list of "PATH=HANDLER,ARG"), engine, name.
function programs.fcgi_server(s, options)
    options = options or {}
    local argv = programs.fcgi_server_words(s)
    argv[#argv + 1] = "-n"
    argv[#argv + 1] = tostring(s.children)
    for _, route in ipairs(options.routes or {}) do
        argv[#argv + 1] = "-r"
        argv[#argv + 1] = route
    end
    for _, word in ipairs({ "-l", s:address(), "--backlog", tostring(s.backlog) }) do
        argv[#argv + 1] = word
    end
    if options.owner and as_root() and not s.tcp_port then
        argv[#argv + 1] = "--socket-owner"
        argv[#argv + 1] = options.owner
    end
    if s.options.engine or options.engine then
        argv[#argv + 1] = "-e"
        argv[#argv + 1] = s.options.engine or options.engine
    end
    s.logs.server_log = s.folder .. "/fcgi-server.log"
    return s:program({ name = "fcgi-server", argv = argv, listens = s:listens(), log = s.logs.server_log })
end

--- <argv> as a pool under spawn-fcgi: it makes the listening socket and the children and ends; the
-- keeper adopts them. options: name, env, forks (default: the stack's children).
function programs.spawn_fcgi(s, argv, options)
    local pid_file = s.folder .. "/spawn-fcgi.pid"
    local command = { s:find("spawn-fcgi") }
    local function add(...)
        for _, word in ipairs({ ... }) do
            command[#command + 1] = tostring(word)
        end
    end
    if s.tcp_port then
        add("-a", "127.0.0.1", "-p", s.tcp_port)
    else
        add("-s", s.socket, "-M", "660")
    end
    add("-b", s.backlog, "-P", pid_file, "-F", options.forks or s.children, "--")
    add(unpack(argv))
    return s:program({
        name = options.name,
        argv = command,
        env = options.env,
        pid_file = pid_file,
        listens = s:listens(),
        log = s.folder .. "/" .. options.name .. ".log",
    })
end

-- PHP's settings in all its forms: conf/php-fpm/php.ini alone, nothing of the machine's.
local function php_environment(s)
    local values = { ["opcache.enable"] = s.options.opcache == false and 0 or 1 }
    s:render("conf/php-fpm/php.ini", s.folder .. "/php.ini", values)
    return { PHP_INI_SCAN_DIR = "", PHPRC = s.folder .. "/php.ini" }
end
programs.php_environment = php_environment

--- PHP-FPM with a fixed number of children.
function programs.php_fpm(s, options)
    options = options or {}
    local config = s.folder .. "/php-fpm.conf"
    s:render("conf/php-fpm/php-fpm.conf", config, {
        listen = s:bare_address(),
        ["listen.backlog"] = s.backlog,
        ["pm.max_children"] = s.children,
        user = as_root() and "root" or nil,
        group = as_root() and "root" or nil,
        ["env[APPLICATION_SERVER]"] = options.application_server,
    })
    s:config(config)
    local env = php_environment(s)
    local argv = { s:find("php-fpm"), "-F", "-p", s.folder, "-c", s.folder .. "/php.ini", "-y", config }
    if as_root() then
        argv[#argv + 1] = "-R"
    end
    s.logs.server_log = s.folder .. "/php-fpm.log"
    return s:program({ name = "php-fpm", argv = argv, env = env, listens = s:listens(), log = s.logs.server_log })
end

--- The application server of bench/pages/lua. Its address is returned as well.
function programs.app_server(s)
    local port = s:free_port()
    local address = "127.0.0.1:" .. port
    return s:program({
        name = "app-server",
        listens = port,
        argv = { s:find("luajit"), s.root .. "/bench/pages/lua/app-server.lua", address, "4096" },
        log = s.folder .. "/app-server.log",
    }), address
end

--- uWSGI with the web.py application; protocol "uwsgi" or "fastcgi".
function programs.uwsgi(s, protocol)
    local address = s:bare_address()
    return s:program({
        name = "uwsgi",
        listens = s:listens(),
        argv = {
            s:find("uwsgi"), "--plugin", "python3", "--" .. (protocol == "fastcgi" and "fastcgi-socket" or "socket"),
            address, "--chmod-socket=660", "--wsgi-file", s.folder .. "/pages/py/david.py", "--master",
            "--processes", tostring(s.children), "--listen", tostring(math.min(s.backlog, s.somaxconn)),
            "--die-on-term", "--disable-logging", "--need-app",
        },
        log = s.folder .. "/uwsgi.log",
    })
end

local APACHE_USER, APACHE_GROUP = "nobody", "nogroup"

--- Who reaches the application as Apache, if it was started as root.
programs.APACHE_OWNER = APACHE_USER .. ":" .. APACHE_GROUP

--- Apache with conf/apache/<config>. options: env, processes (default: the stack's children), defines
-- (further values), fresh (no connection to the application is kept).
function programs.apache(s, config, options)
    local opts = s.options
    local defines = {
        PREFIX = s.folder,
        PORT = s.port,
        BACKLOG = opts.front_backlog or 511,
        CHILDREN = options and options.processes or s.children,
        -- Apache refuses to serve as root; the copied pages of the run can be read by anybody.
        USER = as_root() and APACHE_USER or nil,
        GROUP = as_root() and APACHE_GROUP or nil,
    }
    local argv = { s:find("apache"), "-d", s.root .. "/conf/apache", "-f", config, "-DFOREGROUND" }
    for name, value in pairs(options and options.defines or {}) do
        defines[name] = value
    end
    for name, value in pairs(defines) do
        argv[#argv + 1] = "-C"
        argv[#argv + 1] = ('Define %s "%s"'):format(name, value)
    end
    for name, on in pairs({ ACCESS_LOG = opts.access_log, GZIP = opts.gzip, FRESH = options and options.fresh }) do
        if on then
            argv[#argv + 1] = "-D" .. name
        end
    end
    s.logs.error_log = s.folder .. "/error.log"
    s.logs.access_log = opts.access_log and s.folder .. "/access.log" or nil
    s:config(s.root .. "/conf/apache/" .. config)
    return s:program({ name = "apache", front = true, argv = argv, env = options and options.env, log = s.logs.error_log })
end

--- lighttpd with conf/lighttpd/<config>. values: variables of local.conf besides the common ones.
function programs.lighttpd(s, config, values)
    local conf = s.folder .. "/conf"
    s:link_tree("conf/lighttpd", conf)
    unistd.unlink(conf .. "/local.conf")
    local lines = { HEAD }
    local opts = s.options
    local all = { prefix = s.folder, port = s.port, backlog = opts.front_backlog or 1024, workers = opts.workers or 0 }
    for name, value in pairs(values or {}) do
        all[name] = value
    end
    for name, value in pairs(all) do
        lines[#lines + 1] = ("var.%s = %s\n"):format(name, type(value) == "number" and value or quoted(value))
    end
    s:write(conf .. "/local.conf", table.concat(lines))
    s:config(conf .. "/" .. config)
    s.logs.error_log = s.folder .. "/error.log"
    return s:program({
        name = "lighttpd",
        front = true,
        argv = { s:find("lighttpd"), "-D", "-f", conf .. "/" .. config },
        log = s.folder .. "/lighttpd.log",
    })
end

local APACHE_THREADS = 64

--- Apache in front of the stack's FastCGI application.
function programs.apache_fastcgi(s)
    local processes = s.options.workers or 1
    return programs.apache(s, "fastcgi.conf", {
        processes = processes,
        fresh = s.keepalive == 0,
        defines = {
            THREADS = APACHE_THREADS, REQUESTS = APACHE_THREADS * processes,
            KEPT = math.max(1, math.min(APACHE_THREADS, s.keepalive)),
            APPLICATION = s.tcp_port and ("fcgi://127.0.0.1:%d/"):format(s.tcp_port)
                or ("unix:%s|fcgi://localhost/"):format(s.socket),
        },
    })
end

--- HAProxy in front of the stack's FastCGI application.
function programs.haproxy(s)
    local config = s.root .. "/conf/haproxy/fastcgi.cfg"
    s:config(config)
    s.logs.error_log = s.folder .. "/haproxy.log"
    return s:program({
        name = "haproxy",
        front = true,
        argv = { s:find("haproxy"), "-db", "-f", config },
        env = {
            PREFIX = s.folder, PORT = s.port, KEPT = s.keepalive,
            BACKLOG = s.options.front_backlog or 4096, THREADS = s.options.workers or 1,
            LOG_LEVEL = s.options.access_log and "info" or "notice",
            APPLICATION = s.tcp_port and "ipv4@127.0.0.1:" .. s.tcp_port or "unix@" .. s.socket,
        },
        listens = s.port,
        log = s.logs.error_log,
    })
end

local H2O_KEPT_MS = 60000

--- h2o in front of the stack's FastCGI application. It keeps connections or not; how many is its own matter.
function programs.h2o(s)
    local config = s.folder .. "/h2o.conf"
    if s.keepalive > 0 and s.options.engine == "libfcgi" then
        s.keepalive = 0
        table.insert(s.notes, "keepalive 0: h2o keeps any number of connections, and each would hold a child")
    end
    s.logs.error_log = s.folder .. "/error.log"
    s:render("conf/h2o/fastcgi.conf", config, {
        listen = ("{ host: 127.0.0.1, port: %d }"):format(s.port),
        ["num-threads"] = s.options.workers or 1,
        ["error-log"] = s.logs.error_log,
        ["pid-file"] = s.folder .. "/h2o.pid",
        user = as_root() and "root" or nil,
        ["file.dir"] = s.folder .. "/pages/static",
        ["fastcgi.connect"] = s.tcp_port and ("{ host: 127.0.0.1, port: %d, type: tcp }"):format(s.tcp_port)
            or ("{ port: %s, type: unix }"):format(s.socket),
        ["fastcgi.timeout.keepalive"] = s.keepalive > 0 and H2O_KEPT_MS or 0,
    })
    s:config(config)
    return s:program({
        name = "h2o",
        front = true,
        argv = { s:find("h2o"), "-m", "worker", "-c", config },
        listens = s.port,
        log = s.folder .. "/h2o.log",
    })
end

--- Caddy in front of the stack's FastCGI application; its state lies in the run's folder.
function programs.caddy(s)
    local config = s.root .. "/conf/caddy/Caddyfile"
    s:config(config)
    s.logs.error_log = s.folder .. "/caddy.log"
    return s:program({
        name = "caddy",
        front = true,
        argv = { s:find("caddy"), "run", "--adapter", "caddyfile", "--config", config },
        env = {
            PREFIX = s.folder, PORT = s.port, HOME = s.folder, XDG_CONFIG_HOME = s.folder, XDG_DATA_HOME = s.folder,
            GOMAXPROCS = s.options.workers or 1,
            APPLICATION = s.tcp_port and "127.0.0.1:" .. s.tcp_port or "unix/" .. s.socket,
        },
        listens = s.port,
        log = s.logs.error_log,
    })
end

--- Copies the pages into the run's folder, readable by anybody: their place in the checkout may
-- be closed to a server that changes its user.
function programs.copy_pages(from, to)
    files.make_folder(to)
    stat.chmod(to, 493)
    for _, name in ipairs(files.list(from)) do
        local source, target = from .. "/" .. name, to .. "/" .. name
        if files.kind(source) == "folder" then
            programs.copy_pages(source, target)
        elseif files.write(target, (files.read(source))) then
            stat.chmod(target, unistd.access(source, "x") and 493 or 420)
        end
    end
end

return programs
