-- SPDX-License-Identifier: MIT
--
-- server.lua - the real fcgi-server for a test.
--
--   server.start{children = 2, engine = "event", address = "unix:..." , config = path | false,
--                routes = {"/x=echo.so,text"}, arguments = {"--max-requests", "5"},
--                launch = "master" | "spawn-fcgi" | "direct", env = {}, nofile = n, cwd = dir}
--     -> s, with s.pid, s.address, s.socket (path or nil), s.log (path)
--   server.try{same} -> s, or nil, {status, err} when the start fails
--   s:get(path, options)      one request straight to the socket (fcgi.get)
--   s:workers()               pids of the children now, sorted
--   s:mark()                  remembers pids and descriptors (start does it, too)
--   s:unchanged(name, {log = {"pattern"...}, pids = false})   the after-check: a greeting is
--                             answered, same pids, no descriptor more, nothing unannounced logged
--   s:log_text(), s:expect_log(pattern)   announces a line, so that unchanged() accepts it
--   s:signal(name)            to the master       s:stop(signal, seconds) -> how, code, seconds
--   s:stop_order(signal, N)   nil when the log of a stop has it in order: the signal, N children that
--                             ended with status 0 and needed no second word, "stopped"; else what it
--                             has. The server needs --log-level info
--   server.engines            {"event", "libfcgi"}; environment ENGINES limits it
--
-- Every test that can runs over server.engines. Default configuration: conf/fcgi-server.lua.

local process = require("process")
local testing = require("testing")
local fcgi = require("fcgi")
local unistd = require("posix.unistd")

local server = { engines = {}, program = testing.build .. "/fcgi-server" }
for name in (os.getenv("ENGINES") or "event libfcgi"):gmatch("%a+") do
    server.engines[#server.engines + 1] = name
end

local instance = {}
instance.__index = instance
local number = 0

local function arguments_of(options)
    local words = {}
    local function add(...)
        for _, word in ipairs { ... } do
            words[#words + 1] = word
        end
    end
    if options.config ~= false then
        add("-c", options.config or (testing.root .. "/conf/fcgi-server.lua"))
    end
    if options.engine then
        add("-e", options.engine)
    end
    for _, route in ipairs(options.routes or {}) do
        add("-r", route)
    end
    add(unpack(options.arguments or {}))
    return words
end

local function append(list, more)
    for _, word in ipairs(more) do
        list[#list + 1] = word
    end
    return list
end

local function environment(options)
    local env = { FCGI_CHILDREN = false, PHP_FCGI_CHILDREN = false, LISTEN_FDS = false }
    for name, value in pairs(options.env or {}) do
        env[name] = value
    end
    return env
end

-- The master tells by a newline on a descriptor that every child serves.
local function start_master(self, options)
    local read_end, write_end = unistd.pipe()
    local command = append({ server.program, "-l", self.address, "-n", options.children or 2,
        "--ready-fd", "3" }, arguments_of(options))
    command.stdout, command.stderr = self.log, self.log
    command.fds = { [3] = write_end }
    command.env, command.cwd, command.nofile = environment(options), options.cwd, options.nofile
    command.keep_fds = options.keep_fds
    self.pid = process.spawn(command)
    unistd.close(write_end)
    local poll = require("posix.poll")
    local ready = poll.rpoll(read_end, (options.ready_s or 15) * 1000) == 1
        and unistd.read(read_end, 1) == "\n"
    unistd.close(read_end)
    return ready
end

local function answers(self)
    return process.poll(10, function()
        return fcgi.get(self.address, "/ping", { timeout = 5 }).complete
    end)
end

local function spawn_fcgi(self, options)
    local pid_file = self.log .. ".pids"
    local command = { "spawn-fcgi", "-P", pid_file, "-F", options.children or 2 }
    local path = self.address:match("^unix:(.*)$")
    if path then
        append(command, { "-s", path })
    else
        append(command, { "-a", self.address:match("^(.*):"), "-p", self.address:match("(%d+)$") })
    end
    append(command, { "--", server.program, "-n", "0", "--log", self.log })
    append(command, arguments_of(options))
    command.env, command.cwd, command.timeout = environment(options), options.cwd, 10
    local result = process.run(command)
    self.start_result = result
    self.spawned = {}
    for pid in (process.read_file(pid_file) or ""):gmatch("%d+") do
        self.spawned[#self.spawned + 1] = tonumber(pid)
        process.spawned[tonumber(pid)] = "fcgi-server"
    end
    return result.status == 0 and answers(self)
end

local function direct(self, options)
    local command = append({ server.program, "-l", self.address, "-n", "0" }, arguments_of(options))
    command.stdout, command.stderr, command.env = self.log, self.log, environment(options)
    command.nofile, command.cwd, command.keep_fds = options.nofile, options.cwd, options.keep_fds
    self.pid = process.spawn(command)
    return answers(self)
end

local launches = { master = start_master, ["spawn-fcgi"] = spawn_fcgi, direct = direct }

function server.try(options)
    options = options or {}
    number = number + 1
    local base = testing.dir .. "/server-" .. number
    local self = setmetatable({
        address = options.address or ("unix:" .. base .. ".sock"), log = base .. ".log",
        expected = {}, options = options, launch = options.launch or "master",
    }, instance)
    self.socket = self.address:match("^unix:(.*)$")
    local ready = launches[self.launch](self, options)
    if not ready then
        local how, code
        if self.pid then
            how, code = process.wait(self.pid, 2)
        end
        if not how and self.pid then
            process.finish(self.pid, "KILL")
        end
        return nil, { status = how == "exited" and code or nil, how = how,
            err = self:log_text() .. (self.start_result and self.start_result.err or "") }
    end
    self:mark()
    return self
end

function server.start(options)
    local self, failure = server.try(options)
    if not self then
        error("fcgi-server did not start: " .. failure.err, 2)
    end
    return self
end

function instance:get(path, options)
    return fcgi.get(self.address, path, options)
end

function instance:workers()
    if self.spawned then
        local list = {}
        for _, pid in ipairs(self.spawned) do
            if process.alive(pid) then
                list[#list + 1] = pid
            end
        end
        return list
    end
    return self.launch == "direct" and { self.pid } or process.children(self.pid)
end

local function count_fds(pids)
    local sum = 0
    for _, pid in ipairs(pids) do
        sum = sum + (process.fds(pid) or 0)
    end
    return sum
end

function instance:mark()
    self.marked_pids = table.concat(self:workers(), " ")
    self.marked_fds = count_fds(self:workers())
    return self.marked_pids
end

function instance:log_text()
    return process.read_file(self.log) or ""
end

function instance:expect_log(pattern)
    self.expected[#self.expected + 1] = pattern
end

local function surprising(self, extra)
    local lines = {}
    for text in self:log_text():gmatch("[^\n]+") do
        local known = not (text:find("error") or text:find("crit") or text:find("PANIC")
            or text:find("AddressSanitizer") or text:find("runtime error"))
        for _, list in ipairs { self.expected, extra or {} } do
            for _, pattern in ipairs(list) do
                known = known or text:find(pattern) ~= nil
            end
        end
        if not known then
            lines[#lines + 1] = text
        end
    end
    return lines
end

function instance:unchanged(name, options)
    options = options or {}
    local answer = self:get("/hello?name=after", { timeout = 10 })
    local problems = {}
    local function claim(good, text)
        if not good then
            problems[#problems + 1] = text
        end
    end
    claim(answer.body == "<h1>Hello after</h1>", "the greeting came as " .. tostring(answer.stdout))
    if options.pids ~= false then
        local pids = table.concat(self:workers(), " ")
        claim(pids == self.marked_pids, "pids were " .. self.marked_pids .. ", are " .. pids)
        local fds
        process.poll(options.fd_s or 3, function()
            fds = count_fds(self:workers())
            return fds <= self.marked_fds
        end)
        claim(fds <= self.marked_fds, "descriptors were " .. self.marked_fds .. ", are " .. fds)
    end
    local lines = surprising(self, options.log)
    claim(#lines == 0, "unexpected in the log: " .. table.concat(lines, "\n", 1, math.min(5, #lines)))
    testing.ok(#problems == 0, name or "the server is as before", table.concat(problems, "\n"))
    return #problems == 0
end

function instance:signal(name)
    return process.kill(self.pid, name)
end

-- Sends the signal and waits. Returns how it ended, the code, and the seconds it took.
function instance:stop(name, seconds)
    local start = process.now()
    if self.spawned then
        for _, pid in ipairs(self.spawned) do
            process.kill(pid, name or "TERM")
        end
        local how, code = "exited", 0
        for _, pid in ipairs(self.spawned) do
            local h, c = process.wait(pid, seconds or 10)
            if h ~= "exited" or c ~= 0 then
                how, code = h, c
            end
        end
        return how, code, process.now() - start
    end
    local how, code = process.finish(self.pid, name or "TERM", seconds or 10)
    return how, code, process.now() - start
end

function instance:stop_order(name, children)
    local events = {}
    for line in (self:log_text():match("received SIG" .. name .. "\n.*") or ""):gmatch("[^\n]+") do
        events[#events + 1] = line:find("received SIG") and "signal" or line:find("notice: stopped$") and "stopped"
            or line:find("child %d+ exited with status 0 ") and "ended"
            or line:find("notice: stopping") and "stopping" or line
    end
    local wanted = "signal stopping " .. ("ended "):rep(children) .. "stopped"
    local got = table.concat(events, " ")
    return got ~= wanted and got or nil
end

return server
