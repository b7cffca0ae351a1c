-- SPDX-License-Identifier: MIT
--
-- verifier.lua - a slow but suspicious client: processes that ask for pages over kept
-- HTTP connections, compare every byte, and write each failure with its time to a file.
--
--   verifier.start{port = p, pages = {{path, body}...}, processes = 4, file = path}
--     pages: body is the text wanted, or a function(path) -> path, body for random ones;
--     a third field is the text of a POST
--   -> v: v:stop() -> {ok =, failures = {{time =, page =, what =, idempotent = bool}...}, wrong = n}
--   Times are process.now(). "what": "connect", "cut", "status N", "body".

local fcgi = require("fcgi")
local process = require("process")
local unistd = require("posix.unistd")

local verifier = {}
local instance = {}
instance.__index = instance

local function join_chunks(text)
    local parts, at = {}, 1
    while true do
        local size, start = text:match("^(%x+)\r\n()", at)
        size = size and tonumber(size, 16)
        if not size or size == 0 then
            return table.concat(parts)
        end
        parts[#parts + 1] = text:sub(start, start + size - 1)
        at = start + size + 2
    end
end

-- The status and the body; nil and what went wrong.
local function read_answer(c, seconds)
    local parts, total, limit, tail = {}, 0, process.now() + seconds, ""
    local head, head_end, wanted, chunked
    while true do
        local more = c:receive(limit - process.now())
        if not more or more == "" then
            return nil, more == nil and "no answer in time" or total > 0 and "cut" or "closed"
        end
        parts[#parts + 1], total, tail = more, total + #more, (tail .. more):sub(-5)
        if not head then
            parts = { table.concat(parts) }
            head, head_end = parts[1]:match("^(.-\r\n)\r\n()")
            local lower = head and head:lower()
            chunked = head and lower:find("transfer%-encoding:%s*chunked")
            wanted = head and head_end - 1 + (tonumber(lower:match("\ncontent%-length:%s*(%d+)")) or 0)
        end
        if head and (chunked and tail == "0\r\n\r\n" or not chunked and total >= wanted) then
            local body = table.concat(parts):sub(head_end)
            return tonumber(head:match("^HTTP/1%.%d (%d+)")), chunked and join_chunks(body) or body,
                head:lower():find("connection: close") ~= nil
        end
    end
end

local function ask(state, path, posted)
    local fresh = not state.c
    if fresh then
        state.c = fcgi.connect("127.0.0.1:" .. state.port)
        if not state.c then
            return nil, "connect"
        end
    end
    local request = (posted and "POST " or "GET ") .. path .. " HTTP/1.1\r\nHost: localhost\r\n"
        .. (posted and "Content-Length: " .. #posted .. "\r\n" or "") .. "\r\n" .. (posted or "")
    local sent = state.c:send(request)
    local status, body, last
    if sent then
        status, body, last = read_answer(state.c, 20)
    end
    if not status or last then
        state.c:close()
        state.c = nil
    end
    if not status and (not sent or body == "closed") and not fresh then
        return ask(state, path, posted) -- the front end closed a kept connection, as it may
    end
    return status, body
end

local function work(options, seed)
    math.randomseed(seed)
    local state = { port = options.port }
    local file = assert(io.open(options.file, "a"))
    file:setvbuf("no")
    local parent, ok = unistd.getppid(), 0
    while unistd.getppid() == parent and not process.read_file(options.file .. ".stop") do
        local page = options.pages[math.random(#options.pages)]
        local path, wanted, posted = page[1], page[2], page[3]
        if type(wanted) == "function" then
            path, wanted = wanted(path)
        end
        local start = process.now()
        local status, body = ask(state, path, posted)
        if status == 200 and body == wanted then
            ok = ok + 1
        else
            -- Without kept connections nginx passes on as whole what it has of an answer whose child died.
            local short = status == 200 and #body < #wanted and wanted:sub(1, #body) == body
            local what = not status and (body or "cut") or status ~= 200 and "status " .. status or short and "cut" or "body"
            file:write(("fail\t%.3f\t%.3f\t%s\t%s\t%s\n"):format(start, process.now(), path, what:gsub("%s", " "),
                posted and "once" or "again"))
            process.pause(0.02)
        end
        if ok % 100 == 0 then
            file:write("")
        end
        process.pause(options.pause or 0.002)
    end
    file:write("ok\t" .. ok .. "\n")
    file:close()
end

function verifier.start(options)
    os.remove(options.file)
    os.remove(options.file .. ".stop")
    local pids = {}
    for index = 1, options.processes or 4 do
        io.stdout:flush()
        local pid = assert(unistd.fork())
        if pid == 0 then
            local signal = require("posix.signal")
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            local good, message = xpcall(function()
                work(options, index * 7919)
            end, debug.traceback)
            if not good then
                io.stderr:write(tostring(message), "\n")
            end
            unistd._exit(good and 0 or 1)
        end
        process.spawned[pid] = "verifier"
        pids[index] = pid
    end
    return setmetatable({ pids = pids, file = options.file }, instance)
end

function instance:stop()
    process.write_file(self.file .. ".stop", "")
    local ended = true
    for _, pid in ipairs(self.pids) do
        local how, code = process.wait(pid, 30)
        ended = ended and how == "exited" and code == 0
    end
    local result = { ok = 0, failures = {}, wrong = 0, ended = ended }
    for line in (process.read_file(self.file) or ""):gmatch("[^\n]+") do
        local count = line:match("^ok\t(%d+)")
        if count then
            result.ok = result.ok + tonumber(count)
        else
            local from, to, path, what, kind = line:match("^fail\t(%S+)\t(%S+)\t(%S+)\t([^\t]+)\t(%S+)")
            if from then
                result.failures[#result.failures + 1] = {
                    from = tonumber(from), to = tonumber(to), page = path, what = what, idempotent = kind == "again",
                }
                result.wrong = result.wrong + (what == "body" and 1 or 0)
            end
        end
    end
    return result
end

return verifier
