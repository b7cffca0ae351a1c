-- A stack under way: options settled, folder made, ports found. What descriptions and the
-- constructors of programs work with; stack.lua brings it up and down.

local socket = require("posix.sys.socket")
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")
local files = require("bench.suite.system.files")
local limits = require("bench.suite.system.limits")
local programs = require("bench.suite.bring_up.programs")
local stack_options = require("bench.suite.bring_up.stack_options")

local SOCKET_PATH_MAX = 107
local TEMPORARY_MAX = 50 -- bytes of a temporary folder that leave room for socket names

local assembly = {}

local Stack = {}
Stack.__index = Stack

--- Path of the program <name>; an error when it is not installed.
function Stack:find(name)
    local path, reason = programs.find(name, self.root, self.own_programs)
    return path or error(name .. ": " .. reason, 0)
end

--- A TCP port of 127.0.0.1 that is free now, and not given out before.
function Stack:free_port()
    local fd = assert(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0))
    assert(socket.bind(fd, { family = socket.AF_INET, addr = "127.0.0.1", port = 0 }))
    local port = socket.getsockname(fd).port
    -- Held until all are found, so that no two are the same.
    table.insert(self.held, fd)
    return port
end

--- Writes a file of the run; an error when it cannot be written.
function Stack.write(_, path, text)
    assert(files.write(path, text))
end

--- Notes a configuration file for the report.
function Stack:config(path)
    table.insert(self.configs, path)
end

--- Links the files of <from> (a folder of the checkout) into <to>; folders named <but> are made
-- anew with links inside, so that single files can be replaced.
function Stack:link_tree(from, to, but)
    assert(files.make_folder(to))
    for _, name in ipairs(files.list(self.root .. "/" .. from)) do
        if name == but then
            self:link_tree(from .. "/" .. name, to .. "/" .. name)
        else
            assert(files.point(to .. "/" .. name, self.root .. "/" .. from .. "/" .. name))
        end
    end
end

--- Copies the file <from> of lines "key = value" or "key: value" to <to> with other values for the keys
-- in <values>. Each must stand in the shipped file, as a comment (";key = ", "# key: ") at least: what is
-- set is documented there.
function Stack:render(from, to, values)
    local text = assert(files.read(self.root .. "/" .. from))
    for key, value in pairs(values) do
        local count
        local pattern = "\n([ \t]*)[;#]? ?(" .. key:gsub("%p", "%%%0") .. "[ \t]*[=:])[^\n]*"
        text, count = text:gsub(pattern, "\n%1%2 " .. tostring(value):gsub("%%", "%%%%"), 1)
        assert(count == 1, from .. " has no line for " .. key)
    end
    self:write(to, text)
end

--- A part of this stack with a folder, sockets and logs of its own, whose front server listens at
-- <address>:<port>: a second host. Its pages are this stack's.
function Stack:part(name, address, port)
    local folder = self.folder .. "/" .. name
    assert(files.make_folder(folder))
    assert(files.point(folder .. "/pages", self.folder .. "/pages"))
    return setmetatable({
        name = name, folder = folder, socket = folder .. "/app.sock", logs = {},
        address_of_front = address, port = port,
    }, { __index = self })
end

--- Completes a program: its command line goes into the report.
function Stack:program(program)
    program.directory = program.directory or self.folder
    table.insert(self.commands, table.concat(program.argv, " "))
    return program
end

--- Where the application listens, as a program's <listens> has it.
function Stack:listens()
    return self.tcp_port or self.socket
end

--- The application's address, as fcgi-server and nginx write it.
function Stack:address()
    return self.tcp_port and "127.0.0.1:" .. self.tcp_port or "unix:" .. self.socket
end

--- The same for PHP-FPM and uWSGI, which know a path by its slash.
function Stack:bare_address()
    return self.tcp_port and "127.0.0.1:" .. self.tcp_port or self.socket
end

--- The same for the load client.
function Stack:fcgi_url()
    return self.tcp_port and "fcgi://127.0.0.1:" .. self.tcp_port or "fcgi+unix:" .. self.socket .. ":"
end

local function somaxconn()
    return tonumber((files.read("/proc/sys/net/core/somaxconn") or "128"):match("%d+"))
end

-- Whole processors that children could keep busy.
local function processors()
    return math.ceil(limits.processors().usable)
end

local function merge(description, opts)
    local variant = (description.variants or {})[opts.variant or "tuned"] or {}
    local merged = {}
    for _, source in ipairs({ variant.options or {}, opts }) do
        for key, value in pairs(source) do
            merged[key] = value
        end
    end
    return merged, variant.reasons or {}
end

--- The temporary folder: TMPDIR, unless its path leaves no room for a unix socket's name.
function assembly.temporary_base()
    local base = os.getenv("TMPDIR") or "/tmp"
    return #base <= TEMPORARY_MAX and base or "/tmp"
end

-- idle kept connections x worker processes <= children, for programs that serve one at a time.
local function cap_keepalive(s, blocking)
    local asked = s.options.keepalive or 0
    local most = math.floor(s.children / (s.options.workers or 1))
    if blocking and asked > most then
        local why = "keepalive %d instead of %d: %d children can hold no more idle connections"
        table.insert(s.notes, why:format(most, asked, s.children))
        return most
    end
    return asked
end

--- Settles the options of <description> for <opts> (see stack.lua), makes the folder, finds ports.
-- <root>: the checkout. An error when something cannot be had.
function assembly.new(description, opts, root)
    local options, reasons = merge(description, opts)
    local folder = opts.dir or assert(stdlib.mkdtemp(assembly.temporary_base() .. "/stack-XXXXXX"))
    assert(files.make_folder(folder))
    stat.chmod(folder, 493)
    local s = setmetatable({
        name = description.name, title = description.title, unreaped = description.unreaped, root = root, folder = folder,
        options = options, reasons = reasons, notes = {}, held = {}, variant = opts.variant or "tuned",
        children = options.children == "cpus" and processors() or options.children or 4, somaxconn = somaxconn(),
        logs = {}, commands = {}, configs = {}, pages = {}, groups = {},
        own_programs = description.programs, log_texts = description.log_texts,
    }, Stack)
    s.children_asked = opts.children
    s.port = opts.port or s:free_port()
    s.url = "http://127.0.0.1:" .. s.port
    s.backlog = stack_options.takes(description, "backlog") and (options.backlog or 1024) or nil
    if s.backlog and s.backlog > s.somaxconn then
        table.insert(s.notes, ("backlog %d is cut to net.core.somaxconn = %d"):format(s.backlog, s.somaxconn))
    end
    s.socket = folder .. "/app.sock"
    s.tcp_port = options.tcp and stack_options.takes(description, "tcp") and s:free_port() or nil
    assert(#s.socket <= SOCKET_PATH_MAX, "unix socket path over 107 bytes: " .. s.socket)
    s.keepalive = cap_keepalive(s, description.blocking or options.engine == "libfcgi")
    for page, path in pairs(description.pages) do
        s.pages[page] = path
    end
    return s
end

return assembly
