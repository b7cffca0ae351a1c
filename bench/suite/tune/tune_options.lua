-- SPDX-License-Identifier: MIT
--
-- The command line of bench/bench tune: from words to targets. Reads nothing but its arguments, the
-- environment (BUILD, RESULTS) and whether the load client is there.

local unistd = require("posix.unistd")
local files = require("bench.suite.system.files")
local tune_pool = require("bench.suite.tune.tune_pool")

local tune_options = {}

local USAGE = [[
usage: bench/bench tune [options] [POOL]
       bench/bench tune [options] --command 'PROGRAM ... {children} ...' --url URL
POOL: %s, another stack of `bench/bench list`, or the path of a
stack file of your own. Without a POOL the shipped pages are tuned one after another (9 minutes).
What is measured
  --page NAME|PATH     page of the pool: hello, echo, slow, table ... or a path (hello)
  --url URL            with --command: the page, http://..., fcgi://... or fcgi+unix:/socket:/page
  --config-file FILE   with --command: a file in which {children} is replaced; {config} is its place
  --script FILE        SCRIPT_FILENAME for a FastCGI program that wants one (PHP)
  --direct             straight to the FastCGI socket, without the web server
  --option NAME=VALUE  an option that the stack takes (engine=libfcgi, keepalive=8, tcp=true ...)
The load
  -c N                 clients, each with one request at a time (64)
  -R RATE              an open loop of RATE requests per second instead; -c limits what is open (256)
  --no-keep            a connection for each request
  -j N                 threads of the load client (1)
The sweep
  --counts N,N,...     numbers of children (what suits the page)
  --repeats N          rounds (5)          -d TIME  of one measurement (1200ms)
  --quick              a smoke test: few counts, short        --seed N  of the random order
The goals
  --p99 TIME           the 99th percentile may be at most TIME
  --memory SIZE        memory of the pool: 512M, 2G (85 % of what is free)
Output
  -o FOLDER            parent of the results folder (results)   --plain  no line that is rewritten
Exit codes: 0 done, 1 usage, 3 a pool could not be measured, 130/143/129 interrupted.
]]

--- The text of --help.
function tune_options.usage()
    local _, names = tune_pool.names()
    return (USAGE:gsub("%%s", (table.concat(names, ", "))))
end

local function fail(...)
    error({ usage = string.format(...) .. "\nTry 'bench/bench tune --help'." }, 0)
end

local TIME_UNITS = { us = 1e-6, ms = 1e-3, s = 1, m = 60 }

--- "500ms", "2s", "1m" in seconds; nil when it is none.
function tune_options.seconds(text)
    local number, unit = text:match("^([%d.]+)(%a*)$")
    local value = tonumber(number)
    return value and value > 0 and (unit == "" and value or TIME_UNITS[unit] and value * TIME_UNITS[unit]) or nil
end

local SIZE_UNITS = { K = 1, M = 1024, G = 1048576 }

--- "512M", "2G" in KiB; nil when it is none.
function tune_options.kib(text)
    local number, unit = text:match("^([%d.]+)([KMG])i?B?$")
    return tonumber(number) and tonumber(number) * SIZE_UNITS[unit] or nil
end

local function count_list(text)
    local list, seen = {}, {}
    for word in (text .. ","):gmatch("([^,]*),") do
        local n = tonumber(word)
        if not n or n < 1 or n > 65536 or n ~= math.floor(n) then
            return nil
        end
        if not seen[n] then
            seen[n], list[#list + 1] = true, n
        end
    end
    table.sort(list)
    return #list >= 2 and list or nil
end

local function positive(text)
    local value = tonumber(text)
    return value and value > 0 and value or nil
end

local function whole(text)
    local value = positive(text)
    return value and value == math.floor(value) and value or nil
end

local function text_of(text)
    return text
end

-- Option -> name, and how its value is read (false: a flag).
local OPTIONS = {
    ["--page"] = { "page", text_of }, ["--url"] = { "url", text_of }, ["--command"] = { "command", text_of },
    ["--config-file"] = { "config_file", text_of }, ["--direct"] = { "direct", false },
    ["--script"] = { "script_filename", text_of },
    ["--option"] = { "option", text_of }, ["-c"] = { "connections", whole }, ["-R"] = { "rate_per_s", positive },
    ["--no-keep"] = { "no_keep", false }, ["-j"] = { "threads", whole }, ["--counts"] = { "counts", count_list },
    ["--repeats"] = { "repeats", whole }, ["-d"] = { "seconds", tune_options.seconds }, ["--quick"] = { "quick", false },
    ["--seed"] = { "seed", whole }, ["--p99"] = { "p99", tune_options.seconds }, ["--memory"] = { "memory_kib", tune_options.kib },
    ["-o"] = { "output", text_of }, ["--plain"] = { "plain", false }, ["-h"] = { "help", false }, ["--help"] = { "help", false },
}

-- What a reader wants, for the one who wrote something else.
local WANTED = {
    [count_list] = "at least two numbers of children, such as 1,2,4,8", [whole] = "a whole number from 1",
    [positive] = "a number above 0", [text_of] = "a value", [tune_options.seconds] = "a time such as 500ms, 2s or 1m",
    [tune_options.kib] = "a size such as 512M or 2G",
}

local function read_words(arguments)
    local given, options, i = {}, {}, 1
    while i <= #arguments do
        local word = arguments[i]
        local row = OPTIONS[word]
        if word:sub(1, 1) ~= "-" then
            if given.pool then
                fail("one pool at a time: %s, %s", given.pool, word)
            end
            given.pool = word
        elseif not row then
            fail("unknown option %s", word)
        elseif not row[2] then
            given[row[1]] = true
        else
            i = i + 1
            local value = arguments[i] and row[2](arguments[i])
            if not value then
                fail("%s: %s is no good: expected %s", word, arguments[i] or "nothing", WANTED[row[2]])
            elseif row[1] == "option" then
                options[#options + 1] = value
            else
                given[row[1]] = value
            end
        end
        i = i + 1
    end
    return given, options
end

local function stack_options(words)
    local options = {}
    for _, word in ipairs(words) do
        local name, value = word:match("^([%w_]+)=(.*)$")
        if not name then
            fail("--option needs NAME=VALUE, not %s", word)
        end
        if value == "true" or value == "false" then
            options[name] = value == "true"
        else
            options[name] = tonumber(value) or value
        end
    end
    return options
end

-- Counts that suit a page: a page that sleeps wants as many children as clients, one that computes
-- as many as processors; documents.md's 1,024 is a point of the greeting.
local COUNTS = {
    hello = { 1, 2, 4, 8, 32, 1024 },
    slow = { 1, 4, 16, 32, 64, 128 },
    other = { 1, 2, 3, 4, 8, 16 },
    quick = { 1, 2, 4 },
    quick_slow = { 4, 16, 64 },
}

local function counts_for(page, quick)
    local slow = page == "slow" or page:find("sleep", 1, true) or page:find("slow", 1, true)
    if quick then
        return slow and COUNTS.quick_slow or COUNTS.quick
    end
    return slow and COUNTS.slow or COUNTS[page] or COUNTS.other
end

-- What `make tune` measures.
local STANDARD = {
    { pool = "fcgi-server", page = "hello" }, { pool = "fcgi-server", page = "echo" },
    { pool = "fcgi-server", page = "table" }, { pool = "fcgi-server", page = "slow" },
    { pool = "php-fpm", page = "table" },
}

local function complete(target, given, options)
    for _, name in ipairs({ "rate_per_s", "threads", "memory_kib", "direct", "command", "config_file", "url", "script_filename" }) do
        target[name] = given[name]
    end
    target.page = target.page or given.page or "hello"
    target.options = options
    target.keep_alive = not given.no_keep
    target.connections = given.connections or (given.rate_per_s and 256 or 64)
    target.counts = given.counts or counts_for(given.command and given.url or target.page, given.quick)
    target.repeats = given.repeats or (given.quick and 2 or 5)
    target.seconds = given.seconds or (given.quick and 0.3 or 1.2)
    target.p99_us = given.p99 and given.p99 * 1e6
    target.name = given.command and given.url or target.pool .. " " .. target.page
    return target
end

--- Reads the command line. {targets, client, output, seed, plain, text, help}; an error {usage}
-- when it makes no sense. A target: {name, pool | command, url, page, counts, repeats, seconds,
-- connections, rate_per_s, keep_alive, threads, p99_us, memory_kib, options, direct}.
function tune_options.parse(arguments, root)
    local given, words = read_words(arguments)
    if given.help then
        return { help = true }
    elseif (given.command == nil) ~= (given.url == nil) then
        fail("--command and --url belong together")
    elseif given.command and given.pool then
        fail("a pool by name or a --command, not both")
    elseif given.config_file and not given.command then
        fail("--config-file belongs to --command")
    elseif given.script_filename and not (given.url or ""):find("^fcgi") then
        fail("--script belongs to --command with a --url of fcgi://... or fcgi+unix:...")
    end
    local client = files.absolute(os.getenv("BUILD") or root .. "/build") .. "/load-client"
    if not unistd.access(client, "x") then
        error({ usage = client .. " is not there: run make first" }, 0)
    end
    local options, targets = stack_options(words), {}
    if given.pool or given.command or given.page then
        targets[1] = complete({ pool = not given.command and (given.pool or "fcgi-server") or nil }, given, options)
    else
        for i, standard in ipairs(STANDARD) do
            targets[i] = complete({ pool = standard.pool, page = standard.page }, given, options)
        end
    end
    for _, target in ipairs(targets) do
        local reason = tune_pool.misnamed(target)
        if reason then
            error({ usage = reason }, 0)
        end
    end
    return { targets = targets, client = client, seed = given.seed, plain = given.plain,
        output = files.absolute(given.output or os.getenv("RESULTS") or root .. "/results"),
        text = "bench/bench tune " .. table.concat(arguments, " ") }
end

return tune_options
