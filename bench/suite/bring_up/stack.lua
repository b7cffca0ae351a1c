-- Stacks: whole chains of real programs, brought up on loopback from the descriptions in
-- bench/stacks/NAME.lua, and taken down without a trace.
--
-- A description is a table. With the file under conf/ that it may need it is all that a stack consists
-- of: nothing else lists stacks.
--   title      one line: the web server, then the protocol and what is behind it
--   needs      names of programs (see programs.lua)
--   programs   entries for programs.lua's table of programs that no other stack has: name ->
--              {package, commands, file, version}
--   pages      page name -> path with query, the pages that this stack has
--   unreaped   true: it starts processes whose CPU time no parent counts; what the machine used
--              beside what is seen is taken for theirs
--   blocking   a child serves one connection at a time: kept connections are capped to what the
--              children can hold
--   pool       short name under which bench/bench tune offers it
--   live       true: its pool's master adds a child on TTIN and retires one on TTOU
--   log_texts  list of {text, second text or false, cause}: log lines that stand for a cause of
--              classify.lua, besides those that it knows
--   log_noise  list of Lua patterns: lines of the error log that are no fault
--   takes      names of the options that it has a use for, besides port and variant (those that
--              its variants set when this is left out); others are refused
--   variants   documented and tuned: {options, reasons (list of lines)}
--   build      function(s, programs): a list of programs to start, in this order. A program with
--              front = true is the web server in front (those of programs.lua are marked)
--
-- Options (stack.up): children (a number, or "cpus"); backlog (the application's listen queue, or
-- the only server's); front_backlog (the front server's); keepalive (connections to the application
-- that each nginx worker keeps; 0 or nil: none); workers (of nginx); variant ("tuned" unless
-- given); gzip; access_log; tcp (the application on a TCP port instead of a unix socket); port
-- (nil: a free one); dir (nil: a fresh folder, removed by down); engine (of fcgi-server);
-- opcache (of PHP); max_requests (of a php-cgi child); kept_sockets (to the application server);
-- config (of fcgi-server, a file instead of the shipped one);
-- timeout_s (until every page answers); page (wait for that one only); ready(s, path, left_s) (asks
-- instead of a GET: true, or nil, a reason and whether that is final). They win over the variant's.

local unistd = require("posix.unistd")
local assembly = require("bench.suite.bring_up.assembly")
local classify = require("bench.suite.analysis.classify")
local files = require("bench.suite.system.files")
local http = require("bench.suite.system.http")
local keeper = require("bench.suite.bring_up.keeper")
local proc = require("bench.suite.system.proc")
local process = require("bench.suite.system.process")
local programs = require("bench.suite.bring_up.programs")
local stack_options = require("bench.suite.bring_up.stack_options")

local READY_TIMEOUT_S = 60
-- An answer that will not become another by waiting, as 502 to 504 may.
local FINAL = { [400] = true, [403] = true, [404] = true, [500] = true }
local FINAL_TIMEOUT_S = 10
local TAIL_BYTES = 800 -- of a log, in a message
local ATTEMPTS = 3 -- a free port may be taken between the look and the use

local stack = {}
local here = debug.getinfo(1, "S").source:match("^@(.*)/bench/suite/bring_up/[^/]*$") or "."
local root = files.absolute(here):gsub("/%.$", "")
local running = {} -- stacks that this process brought up

--- Names of all shipped stacks, sorted: the files of bench/stacks/.
function stack.names()
    local names = {}
    for _, file in ipairs(files.list(root .. "/bench/stacks")) do
        names[#names + 1] = file:match("^(.+)%.lua$")
    end
    return names
end

--- The description of <name>: a shipped stack, or the path of a file of the user's own (with a
-- slash in it). nil and a reason when there is none or it is broken.
function stack.describe(name)
    local path = name:find("/", 1, true) and name or root .. "/bench/stacks/" .. name .. ".lua"
    if not files.kind(path) then
        return nil, path == name and "no such file" or "no stack of this name; scripts/stack list shows them"
    end
    local chunk, reason = loadfile(path)
    if not chunk then
        return nil, reason
    end
    local ok, description = pcall(chunk)
    if not ok or type(description) ~= "table" or type(description.build) ~= "function" then
        return nil, path .. ": " .. (ok and "returns no description" or tostring(description))
    end
    for _, row in ipairs(description.log_texts or {}) do
        if not classify.known(row[3]) then
            return nil, ("%s: log_texts: %s is not a cause that bench/suite/analysis/classify.lua knows"):format(path, tostring(row[3]))
        end
    end
    description.name = name:match("([^/]+)%.lua$") or name
    return description
end

--- Why <opts> are no options for the stack <name> (see stack_options.lua); nil when they are fine.
function stack.refused(name, opts)
    local description, reason = stack.describe(name)
    return not description and reason or description and stack_options.refused(description, opts) or nil
end

--- nil when <name> can be brought up on this machine, else why not: "not installed (package X)".
function stack.missing(name)
    local description, reason = stack.describe(name)
    if not description then
        return reason
    end
    for _, need in ipairs(description.needs or {}) do
        local found, why = programs.find(need, root, description.programs)
        if not found then
            return why
        end
    end
    return description.unavailable and description.unavailable() or nil
end

--- How the programs of the shipped stacks that are installed are asked for their versions: name -> argv.
function stack.version_commands()
    local commands = {}
    for _, name in ipairs(stack.names()) do
        local description = stack.describe(name) or {}
        for _, need in ipairs(description.needs or {}) do
            commands[need] = commands[need] or programs.version_command(need, root, description.programs)
        end
    end
    return commands
end

-- Asked for often while a load runs: no look at all of /proc.
local function pids_of(handle, name)
    return function()
        keeper.listen(handle)
        local pids = {}
        for _, root_pid in ipairs(handle.roots[name] or {}) do
            for _, pid in ipairs(files.kind("/proc/" .. root_pid) and proc.tree(root_pid) or {}) do
                pids[#pids + 1] = pid
            end
        end
        return pids
    end
end

local function tail(path)
    local text = path and files.read(path) or ""
    if #text > TAIL_BYTES then
        text = text:sub(-TAIL_BYTES):gsub("^[^\n]*\n", "")
    end
    return text ~= "" and "\n" .. text or ""
end

-- Why the stack does not come up, with the end of the log that should know.
local function explain(s, list, what)
    for _, exit in ipairs(s.keeper.exits) do
        what = exit.name .. " ended: " .. exit.reason
        for _, program in ipairs(list) do
            if program.name == exit.name then
                return s.name .. ": " .. what .. tail(program.log)
            end
        end
    end
    return s.name .. ": " .. what .. tail(s.logs.error_log) .. tail(s.logs.server_log)
end

-- One look at a page: true, or nil, a reason, and whether waiting will not help. A slow page has all the
-- time that is left: a look that is given up would keep the child that serves it busy.
local function ask(s, path, left_s)
    local answer, reason = http.get(s.url, path, left_s, nil, nil, function()
        keeper.listen(s.keeper)
        return #s.keeper.exits > 0
    end)
    if answer and answer.status == 200 then
        return true
    end
    return nil, answer and "status " .. answer.status or reason, answer and FINAL[answer.status]
end

-- The pages to wait for: name -> path.
local function wanted(s, opts)
    if opts.ready then
        return { measured = "" }
    end
    local open = {}
    for page, path in pairs(s.pages) do
        open[page] = (page == opts.page or not s.pages[opts.page or false]) and path or nil
    end
    return open
end

local function wait_ready(s, list, opts)
    local begun, last = process.now(), "its programs did not start"
    local deadline = begun + (opts.timeout_s or READY_TIMEOUT_S)
    while not s.keeper.started and #s.keeper.exits == 0 and process.now() < deadline do
        keeper.listen(s.keeper, 100)
    end
    local open, pause, look = wanted(s, opts), 0.005, opts.ready or ask
    while next(open) and #s.keeper.exits == 0 and process.now() < deadline do
        for page, path in pairs(open) do
            local fine, reason, final = look(s, path, deadline - process.now())
            if fine then
                open[page] = nil
            else
                last = opts.ready and reason or ("page %s (%s): %s"):format(page, path, reason)
                deadline = final and math.min(deadline, begun + FINAL_TIMEOUT_S) or deadline
                break
            end
        end
        keeper.listen(s.keeper)
        if next(open) then
            process.sleep(pause)
            pause = math.min(pause * 1.5, 0.2)
        end
    end
    if #s.keeper.exits == 0 and not next(open) then
        return true
    end
    return nil, explain(s, list, last)
end

local function attempt(description, opts)
    local s = assembly.new(description, opts, root)
    local ok, list = pcall(function()
        programs.copy_pages(root .. "/bench/pages", s.folder .. "/pages")
        return description.build(s, programs)
    end)
    for _, fd in ipairs(s.held) do
        unistd.close(fd)
    end
    s.held = {}
    if not ok then
        if not opts.dir then
            files.remove_tree(s.folder)
        end
        if type(list) == "table" then
            error(list, 0) -- an interrupt, not a failure of the description
        end
        return nil, s.name .. ": " .. tostring(list)
    end
    local reason
    s.keeper, reason = keeper.start({
        programs = list,
        folder = s.folder,
        remove = not opts.dir or opts.detached,
        detached = opts.detached,
    })
    if not s.keeper then
        return nil, reason
    end
    for _, program in ipairs(list) do
        table.insert(s.groups, { name = program.name, front = program.front, pids = pids_of(s.keeper, program.name) })
    end
    running[s] = true
    ok, reason = wait_ready(s, list, opts)
    if ok then
        return s
    end
    stack.down(s)
    return nil, reason
end

--- Brings <name> up and waits until each of its pages answers 200 (opts.page: that one). Returns the stack: url, pages,
-- fcgi (the application's address for a FastCGI client, or nil), groups ({name, front, pids()}), logs
-- (error_log, access_log, server_log: paths), children, keepalive, backlog, commands, configs,
-- reasons (of the variant), notes (where an option could not be had). nil and a reason on failure.
function stack.up(name, opts)
    opts = opts or {}
    local description, reason = stack.describe(name)
    if not description then
        return nil, reason
    end
    local why = stack.missing(name) or stack_options.refused(description, opts)
    if why then
        return nil, why
    end
    local s
    for _ = 1, opts.port and 1 or ATTEMPTS do
        s, reason = attempt(description, opts)
        if s or not reason:find("in use", 1, true) then
            break
        end
    end
    return s, reason
end

--- Takes <s> down: no process, socket or pid file is left (with opts.dir the logs stay).
function stack.down(s)
    if running[s] then
        running[s] = nil
        keeper.stop(s.keeper)
    end
end

--- Takes down all that this process brought up. <at_once>: an interrupt, which waits for nobody.
function stack.down_all(at_once)
    for s in pairs(at_once and running or {}) do
        keeper.hurry(s.keeper) -- all of them, before the first is waited for
    end
    for s in pairs(running) do
        stack.down(s)
    end
end

--- Lets go of a stack that was brought up with opts.detached: it lives on. Returns what is needed
-- to find it again, as a table of plain values.
function stack.release(s)
    running[s] = nil
    local pids = {}
    for _, group in ipairs(s.groups) do
        pids[group.name] = group.pids()
    end
    local keeper_pid = s.keeper.pid
    keeper.release(s.keeper)
    return {
        name = s.name, title = s.title, url = s.url, pages = s.pages, fcgi = s.fcgi, folder = s.folder,
        keeper = keeper_pid, children = s.children, keepalive = s.keepalive, backlog = s.backlog,
        variant = s.variant, reasons = s.reasons, notes = s.notes, logs = s.logs,
        commands = s.commands, configs = s.configs, checkout = root, pids = pids,
    }
end

stack.root = root

return stack
