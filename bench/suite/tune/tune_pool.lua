-- SPDX-License-Identifier: MIT
--
-- Pools whose child count can be set: the shipped stacks (fcgi-server, spawn-fcgi, php-fpm, php-cgi,
-- any stack that takes a count) and any command of the user's with {children} in it. One interface:
--
--   pool:start(children)  brings it up, or resizes it where it lives; true, or nil and a reason
--   pool:workers()        pids of the processes that serve: those of the pool without children
--   pool:stop()
--   pool.handle           what measure.slot wants: url, fcgi, groups "pool" and "front"
--   pool.page             path to measure; pool.blocks: one kept connection occupies a child

local posix_signal = require("posix.signal")
local unistd = require("posix.unistd")
local files = require("bench.suite.system.files")
local http = require("bench.suite.system.http")
local keeper = require("bench.suite.bring_up.keeper")
local measure = require("bench.suite.measurement.measure")
local proc = require("bench.suite.system.proc")
local process = require("bench.suite.system.process")
local programs = require("bench.suite.bring_up.programs")
local stack = require("bench.suite.bring_up.stack")
local stack_options = require("bench.suite.bring_up.stack_options")

local tune_pool = {}
local Pool = {}
Pool.__index = Pool

local READY_S, COUNT_S, COUNT_AGAIN_S = 20, 10, 1
local LOG_TAIL = 600 -- bytes of what a program printed, in a message
local SCRATCH_MAX = 60 -- bytes of a folder that leave room for the names of sockets in it

local made = {}

--- Short names of pools, as stacks declare them: name -> stack; and the names, sorted.
function tune_pool.names()
    local stacks, names = {}, {}
    for _, name in ipairs(stack.names()) do
        local pool = (stack.describe(name) or {}).pool
        if pool then
            stacks[pool], names[#names + 1] = name, pool
        end
    end
    table.sort(names)
    return stacks, names
end

-- Pids of a list that are no other's parent.
local function leaves(pids)
    local parents, alive, list = {}, {}, {}
    for _, pid in ipairs(pids) do
        local info = proc.parse_stat(proc.read("/proc/" .. pid .. "/stat") or "")
        if info and info.state ~= "Z" then
            alive[#alive + 1], parents[info.ppid] = pid, true
        end
    end
    for _, pid in ipairs(alive) do
        if not parents[pid] then
            list[#list + 1] = pid
        end
    end
    return list
end

--- Processes of the pool that serve requests.
function Pool:workers()
    return leaves(self.group.pids())
end

--- How the pool's program ended while it was measured; nil when it did not.
function Pool:ended()
    local handle = self.keeper or self.running and self.running.keeper
    if handle then
        keeper.listen(handle)
        local exit = handle.exits[1]
        return exit and ("%s ended by itself (%s)"):format(exit.name, exit.reason)
    end
end

-- Waits until the pool has <count> workers; whether it came to that is judged by the row.
-- A pool that did not get there once is not waited for that long again.
local function settle(self, count)
    local deadline = process.now() + (self.unsettled and COUNT_AGAIN_S or COUNT_S)
    while #self:workers() ~= count and process.now() < deadline do
        process.sleep(0.02)
    end
    self.unsettled = #self:workers() ~= count
end

-- --- shipped stacks ------------------------------------------------------------

local function split_groups(s)
    local pool, front
    for _, group in ipairs(s.groups) do
        if group.front then
            front = front or group
        else
            pool = pool or group
        end
    end
    pool = pool or front
    local groups = { { name = "pool", pids = pool.pids } }
    if front and front ~= pool then
        groups[2] = { name = "front", pids = front.pids }
    end
    return pool, groups
end

-- fcgi-server's master: TTIN adds a child, TTOU retires one. Signals of one kind merge while they
-- are pending, so each is sent once its predecessor has shown effect.
local function resize(self, children)
    local master = self.group.pids()[1]
    local deadline = process.now() + COUNT_S
    local count = #self:workers()
    while master and count ~= children and process.now() < deadline do
        posix_signal.kill(master, count < children and posix_signal.SIGTTIN or posix_signal.SIGTTOU)
        local before, patience = count, process.now() + 0.5
        repeat
            process.sleep(0.002)
            count = #self:workers()
        until count ~= before or process.now() > patience
        if count == before then
            return false
        end
    end
    return count == children
end

local Stacked = setmetatable({}, { __index = Pool })
Stacked.__index = Stacked

-- A folder of the run for the stack, so that whoever removes the run's folder removes all; nil
-- (a folder of the stack's own) where a socket's path would become too long.
function Stacked:fresh_folder()
    if #self.scratch > SCRATCH_MAX then
        return nil
    end
    self.starts = (self.starts or 0) + 1
    self.folder = ("%s/stack-%d"):format(self.scratch, self.starts)
    return self.folder
end

-- Live resizing pays for small steps; a pool far away is quicker to start anew.
local LIVE_STEP = 64

function Stacked:start(children)
    if self.live and self.handle and math.abs(children - #self:workers()) <= LIVE_STEP and resize(self, children) then
        self.started_by = "signals"
        return true
    end
    self:stop()
    local options = { children = children, dir = self:fresh_folder() }
    for _, queue in ipairs(self.queues) do
        options[queue] = 4096
    end
    for key, value in pairs(self.options) do
        options[key] = value
    end
    local s, reason = stack.up(self.stack, options)
    if not s then
        return nil, reason
    end
    self.running, self.started_by = s, "restart"
    self.group, self.handle = nil, { url = s.url, fcgi = s.fcgi }
    self.group, self.handle.groups = split_groups(s)
    self.logs, self.commands, self.configs, self.front_workers = s.logs, s.commands, s.configs, s.options.workers or 1
    self.keepalive = s.keepalive
    local target = self.direct and s.fcgi or s.url
    self.handle.url = target
    settle(self, children)
    return true
end

function Stacked:stop()
    if self.running then
        stack.down(self.running)
        self.running, self.handle = nil, nil
        if self.folder then
            files.remove_tree(self.folder)
        end
    end
end

-- --- any command -----------------------------------------------------------------

local Command = setmetatable({}, { __index = Pool })
Command.__index = Command

-- {children}, {config} and {dir} in a text.
local function fill(text, values)
    return (text:gsub("{(%w+)}", values))
end

--- Splits a command line as a shell would for plain words, '...' and "..." (no expansion).
function tune_pool.words(line)
    local words, word, quote, index = {}, nil, nil, 1
    while index <= #line do
        local char = line:sub(index, index)
        if quote then
            if char == quote then
                quote = nil
            else
                word = word .. char
            end
        elseif char == "'" or char == '"' then
            word, quote = word or "", char
        elseif char == "\\" and index < #line then
            index = index + 1
            word = (word or "") .. line:sub(index, index)
        elseif char:find("%s") then
            words[#words + 1], word = word, nil
        else
            word = (word or "") .. char
        end
        index = index + 1
    end
    if quote then
        return nil, "a quotation mark is missing in: " .. line
    end
    words[#words + 1] = word
    return words
end

-- Does the page answer 2xx, and why not? FastCGI addresses are asked through the load client.
local function answers(self)
    if self.url:find("^http://") then
        local base, path = self.url:match("^(http://[^/]+)(.*)$")
        local answer = http.get(base, path ~= "" and path or "/", 2)
        return answer ~= nil and answer.status >= 200 and answer.status < 300, answer and "status " .. answer.status
    end
    local load = { connections = 1, requests = 1, script_filename = self.script_filename }
    local run = process.run(measure.arguments(self.client, self.url, load), { timeout_s = 5 })
    local result = measure.parse(run.out)
    return run.code == 0, result and select(2, next(result.examples or {}))
end

function Command:start(children)
    self:stop()
    if answers(self) then
        return nil, self.url .. " answers although the pool is not running: the answers are somebody else's"
    end
    local values = { children = tostring(children), dir = self.folder }
    if self.template then
        values.config = self.folder .. "/config"
        assert(files.write(values.config, fill(self.template, values)))
    end
    local argv = {}
    for i, word in ipairs(self.words) do
        argv[i] = fill(word, values)
    end
    self.log = self.folder .. "/output.log"
    local handle, reason = keeper.start({ folder = self.folder, programs = {
        { name = "pool", argv = argv, directory = self.directory, log = self.log },
    } })
    if not handle then
        return nil, reason
    end
    self.keeper, self.commands, self.started_by = handle, { table.concat(argv, " ") }, "restart"
    self.group = { name = "pool", pids = function()
        return process.descendants(handle.pid)
    end }
    self.handle = { url = self.base, fcgi = self.base:find("^fcgi") and self.base or nil, groups = { self.group } }
    local deadline = process.now() + READY_S
    local fine, seen = answers(self)
    while not fine and #handle.exits == 0 and process.now() < deadline do
        process.sleep(0.05)
        keeper.listen(handle)
        fine, seen = answers(self)
    end
    if fine then
        settle(self, children)
        keeper.listen(handle)
    end
    if not fine or #handle.exits > 0 then
        local exit = handle.exits[1]
        local why = not exit and (seen or "no answer in time")
            or exit.reason == "status 0" and "it ended (status 0): it must stay in the foreground"
            or "it ended: " .. exit.reason
        self:stop()
        local log = files.read(self.log) or ""
        if #log > LOG_TAIL then
            log = log:sub(-LOG_TAIL):gsub("^[^\n]*\n", "") -- whole lines
        end
        return nil, ("%s: %s: %s\n%s"):format(self.url, why, self.commands[1], (log:gsub("%s+$", "")))
    end
    return true
end

function Command:stop()
    if self.keeper then
        keeper.stop(self.keeper)
        self.keeper, self.handle = nil, nil
    end
end

-- --- making one --------------------------------------------------------------------

local function lines_with_count(template)
    local lines = {}
    for line in (template or ""):gmatch("[^\n]+") do
        lines[#lines + 1] = line:find("{children}", 1, true) and line:match("^%s*(.-)%s*$") or nil
    end
    return lines
end

local function new_command(target, session)
    local words, reason = tune_pool.words(target.command)
    if not words then
        return nil, reason
    end
    local template
    if target.config_file then
        template, reason = files.read(target.config_file)
        if not template then
            return nil, reason
        end
    end
    if not (target.command .. (template or "")):find("{children}", 1, true) then
        return nil, "neither the command nor its configuration says where {children} goes"
    end
    if not words[1]:find("/", 1, true) then
        words[1], reason = programs.find(words[1], stack.root)
        if not words[1] then
            return nil, target.command .. ": " .. reason
        end
    end
    local base, path = target.url:match("^([%w]+%+unix:[^:]+:)(/.*)$")
    if not base then
        base, path = target.url:match("^(%w+://[^/]+)(/?.*)$")
    end
    if not base then
        return nil, target.url .. ": expected http://host:port/path, fcgi://..., or fcgi+unix:/socket:/path"
    end
    local folder = session.scratch .. "/pool"
    files.make_folder(folder)
    return setmetatable({ kind = "command", words = words, template = template,
        config_lines = lines_with_count(template), folder = folder, url = target.url,
        base = base, page = path ~= "" and path or "/", client = session.client,
        script_filename = target.script_filename, directory = unistd.getcwd(),
        blocks = true, logs = {} }, Command)
end

-- The description and the path of the page of a target that has a pool; nil and a reason.
local function find_page(target)
    local description, reason = stack.describe(tune_pool.names()[target.pool] or target.pool)
    if not description then
        return nil, target.pool .. ": " .. reason
    end
    local name = target.page or "hello"
    local page = name:sub(1, 1) == "/" and name or description.pages[name]
    if not page then
        local names = {}
        for known in pairs(description.pages) do
            names[#names + 1] = known
        end
        table.sort(names)
        return nil, ("%s has no page %s; it has %s, or give a /path"):format(target.pool, name, table.concat(names, ", "))
    end
    return description, page
end

--- What is wrong with the names in a target (see tune_pool.new), found without starting anything:
-- nil or a reason.
function tune_pool.misnamed(target)
    if not target.pool then
        return next(target.options or {}) and "--option is for stacks; a --command has its options in its own words" or nil
    end
    local description, reason = find_page(target)
    if not description then
        return reason
    elseif not stack_options.takes(description, "children") then
        return ("%s has no children whose number could be tuned"):format(target.pool)
    elseif target.options and target.options.children then
        return "--option children: the number of children is what is tuned; --counts says which"
    end
    return stack_options.refused(description, target.options or {})
end

local function new_stacked(target, session)
    local description, page = find_page(target)
    if not description then
        return nil, page
    end
    local name = tune_pool.names()[target.pool] or target.pool
    local reason = stack.missing(name)
    if reason then
        return nil, target.pool .. ": " .. reason
    end
    local queues = {}
    for _, queue in ipairs({ "backlog", "front_backlog" }) do
        queues[#queues + 1] = stack_options.takes(description, queue) and queue or nil
    end
    return setmetatable({ kind = target.pool, stack = name, queues = queues, live = description.live, page = page,
        direct = target.direct, options = target.options or {}, log_texts = description.log_texts,
        blocks = description.blocking or false, scratch = session.scratch }, Stacked)
end

--- The pool of a target: {pool = shipped name, stack name or file | command = text, config_file,
-- url, page (name or path), direct (straight to FastCGI), options (for stack.up)}. <session>:
-- {client, scratch}. nil and a reason when it cannot be had.
function tune_pool.new(target, session)
    local pool, reason
    if target.command then
        pool, reason = new_command(target, session)
    else
        pool, reason = new_stacked(target, session)
    end
    made[#made + 1] = pool
    return pool, reason
end

--- Stops every pool that was made. <at_once>: an interrupt, which waits for nobody.
function tune_pool.stop_all(at_once)
    for _, pool in ipairs(made) do
        if at_once and pool.keeper then
            keeper.hurry(pool.keeper)
        end
        pool:stop()
    end
end

return tune_pool
