-- The documents: one Lua table each, in bench/documents/NAME.lua or in a file of the user's own.
-- Here they are loaded, checked, and completed with what every reader may then rely on.
--
-- A document is {name, title, comparisons = {...}} and may have year, question, setting, reading,
-- today, advice, programs, experiments, across, stacks (descriptions of the user's own, by name).
-- A comparison is {name, title, page | path, load = {connections, requests, keep_alive,
--   post_bytes = length of a body that each request sends (a POST)},
--   arms = {...}} and may have expect = {status, bytes, body, starts, type}, headers, measure =
--   {requests | slot_s, rounds, timeout_s}, claims = {{faster, slower}, ...}, about.
-- A page may have a query of its own: page = "work?bytes=2048&ms=5".
-- An arm is {stack = NAME} or {url = "http://..."} and may have label, page or path (its own, in place of the
-- comparison's), published = {rate_per_s,
--   ...}, documented = options of the stack or false, tuned = true or options, reference, blocking = false (a waiting
--   page holds no child), why = lines on the settings instead of the stack's own, expect (what differs
--   from the comparison's); with url also processes = {name = Lua pattern of command lines}, to be watched.

local files = require("bench.suite.system.files")
local http = require("bench.suite.system.http")
local stack = require("bench.suite.bring_up.stack")

local documents = {}

-- In the order they are run and reported. The published comparisons are a run without names; what
-- would make it longer than its limit is run by its name.
local PUBLISHED = { "v8cgi-mod_php", "php-node-lua", "wsgi-fastcgi", "apache-nginx", "livecode" }
local BY_NAME = { "fronts" }

--- Names of the shipped documents: those of a run without names, then the others.
function documents.names()
    local names = {}
    for _, list in ipairs({ PUBLISHED, BY_NAME }) do
        for _, name in ipairs(list) do
            names[#names + 1] = name
        end
    end
    return names
end

local function fail(where, what)
    error({ usage = where .. ": " .. what }, 0)
end

local function need(object, key, kind, where)
    if type(object[key]) ~= kind then
        fail(where, ("%s must be a %s (it is %s)"):format(key, kind, type(object[key])))
    end
end

local LOAD_DEFAULTS = { connections = 10, requests = 1000, keep_alive = false }

local function check_arm(arm, comparison, where)
    if type(arm.stack) ~= "string" and type(arm.url) ~= "string" then
        fail(where, "needs stack = \"name\" or url = \"http://...\"")
    end
    local _, problem = http.split(arm.url or "http://localhost/")
    if problem then
        fail(where, problem)
    end
    arm.label = arm.label or arm.stack or arm.url
    arm.key = arm.label
    -- What nobody published has no documented form unless it is asked for: the variant asked for runs.
    if arm.documented == nil and arm.tuned and not arm.published then
        arm.documented = false
    elseif arm.documented == nil or arm.documented == true then
        arm.documented = {}
    end
    if arm.tuned == true then
        arm.tuned = {}
    end
    if not arm.documented and not arm.tuned then
        fail(where, "documented = false needs tuned = true: nothing would be measured")
    end
    for _, variant in ipairs({ "documented", "tuned" }) do
        -- A stack that is not there is the run's to report: the others are measured.
        local reason = arm.stack and arm[variant] and stack.describe(arm.stack) and stack.refused(arm.stack, arm[variant])
        if reason then
            fail(where, reason)
        end
    end
    local published = arm.published
    if published and type(published.rate_per_s) ~= "number" then
        fail(where, "published needs rate_per_s")
    end
    comparison.by_label[arm.label] = arm
    if arm.documented and arm.tuned then
        comparison.by_label[arm.label .. " (tuned)"] = arm
    end
end

local function check_comparison(comparison, where)
    need(comparison, "name", "string", where)
    where = where .. ", comparison " .. comparison.name
    need(comparison, "arms", "table", where)
    if #comparison.arms == 0 then
        fail(where, "has no arms")
    end
    for i, arm in ipairs(comparison.arms) do
        if not (comparison.page or comparison.path or arm.page or arm.path or arm.url) then
            fail(where, ("needs page = \"name of a stack's page\" or path = \"/path\", here or in arm %d"):format(i))
        end
    end
    comparison.title = comparison.title or comparison.name
    comparison.expect = comparison.expect or { status = 200 }
    comparison.load = comparison.load or {}
    for key, value in pairs(LOAD_DEFAULTS) do
        if comparison.load[key] == nil then
            comparison.load[key] = value
        end
    end
    comparison.measure = comparison.measure or {}
    comparison.claims = comparison.claims or {}
    comparison.by_label = {}
    for i, arm in ipairs(comparison.arms) do
        check_arm(arm, comparison, ("%s, arm %d"):format(where, i))
    end
    for _, claim in ipairs(comparison.claims) do
        for _, side in ipairs({ "faster", "slower" }) do
            if not comparison.by_label[claim[side]] then
                fail(where, ("the claim names %s; expected the label of an arm"):format(tostring(claim[side])))
            end
        end
    end
end

--- Checks <document> and fills in what may be left out; <where> stands in messages. Returns it.
-- Raises {usage = text} when it cannot be measured.
function documents.check(document, where)
    if type(document) ~= "table" then
        fail(where, "must return a table")
    end
    need(document, "name", "string", where)
    need(document, "comparisons", "table", where)
    document.title = document.title or document.name
    document.experiments = document.experiments or {}
    for _, comparison in ipairs(document.comparisons) do
        check_comparison(comparison, where)
    end
    return document
end

--- Loads one document: the name of a shipped one, or the path of a Lua file (it contains a "/"
-- or ends in ".lua"). <folder> is where the shipped ones are.
function documents.load(name, folder)
    local own = name:find("/") or name:match("%.lua$")
    local path = own and name or folder .. "/" .. name .. ".lua"
    if not files.kind(path) then
        fail(name, own and "no such file" or "no such document; there are: " .. table.concat(documents.names(), ", ")
            .. ", or the path of a Lua file of your own")
    end
    local chunk, reason = loadfile(path)
    if not chunk then
        fail("broken document", reason) -- which begins with the path and the line
    end
    local ok, document = pcall(chunk)
    if not ok then
        fail(path, tostring(document))
    end
    return documents.check(document, own and path or "document " .. name)
end

--- Loads several; <list> is names separated by commas or blanks, or nil for the published ones.
function documents.select(list, folder)
    local loaded = {}
    if not list or list == "" then
        list = table.concat(PUBLISHED, " ")
    end
    -- A path may contain blanks: then the list is separated by commas, or is that one path.
    local pattern = (list:find(",") or list:find("/")) and "[^,]+" or "%S+"
    for name in list:gmatch(pattern) do
        loaded[#loaded + 1] = documents.load(name, folder)
    end
    return loaded
end

return documents
