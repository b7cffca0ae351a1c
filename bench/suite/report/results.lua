-- The results folder: results/<time>/results.json beside the reports, and results/latest.
-- The format is described in bench/README.md; a change that breaks readers raises the number.

local cjson = require("cjson")
local ptime = require("posix.time")
local files = require("bench.suite.system.files")

local results = {}

results.schema = "backend-testbed-results/1"

cjson.encode_sparse_array(true)
cjson.encode_number_precision(10)

--- <seconds> since 1970 as "2026-01-31T12:34:56Z".
function results.time(seconds)
    return os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(seconds))
end

--- Makes the folder of a run below <parent>; its name is the time, with a number when taken.
-- Returns its path, or nil and a reason.
function results.make_folder(parent)
    local base = os.date("%Y-%m-%d_%H%M%S", ptime.time())
    local path, number = parent .. "/" .. base, 1
    while files.kind(path) do
        number = number + 1
        path = ("%s/%s-%d"):format(parent, base, number)
    end
    local ok, reason = files.make_folder(path)
    if not ok then
        return nil, ("cannot make the results folder %s: %s"):format(path, reason)
    end
    return path
end

-- Functions and what refers back cannot be written; nan and infinity have no JSON form.
local function plain(value, key)
    local kind = type(value)
    if kind == "table" then
        local copy = {}
        for k, v in pairs(value) do
            if type(k) ~= "string" or k:sub(1, 1) ~= "_" then
                copy[k] = plain(v, k)
            end
        end
        return copy
    elseif kind == "number" then
        return (value == value and value ~= math.huge and value ~= -math.huge) and value or nil
    elseif kind == "function" or kind == "userdata" then
        return nil
    end
    return value, key
end

--- Writes <record> as results.json into <folder>; keys that begin with "_" stay out.
function results.save(record, folder)
    return files.write(folder .. "/results.json", cjson.encode(plain(record)))
end

-- A lone empty table reads back as an object or an array alike; null becomes nil.
local function without_nulls(value)
    if type(value) ~= "table" then
        return value ~= cjson.null and value or nil
    end
    for k, v in pairs(value) do
        if v == cjson.null then
            value[k] = nil
        else
            without_nulls(v)
        end
    end
    return value
end

--- Reads the results of a folder (or of a results.json). Returns the record and the folder, or nil
-- and a reason that says what to do.
function results.load(path)
    local file = path:match("%.json$") and path or path .. "/results.json"
    local text, reason = files.read(file)
    if not text then
        return nil, ("%s: no results here (%s); bench/bench run makes some, or name another folder"):format(path, reason)
    end
    local ok, record = pcall(cjson.decode, text)
    if not ok then
        return nil, file .. ": not readable as JSON: " .. tostring(record)
    end
    if record.schema ~= results.schema then
        return nil, ("%s: schema %s, this program reads %s"):format(file, tostring(record.schema), results.schema)
    end
    return without_nulls(record), file:match("^(.*)/[^/]*$") or "."
end

--- Lets <parent>/latest point to <folder>.
function results.mark_latest(parent, folder)
    return files.point(parent .. "/latest", folder:match("([^/]+)/*$"))
end

return results
