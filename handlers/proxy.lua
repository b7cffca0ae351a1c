-- SPDX-License-Identifier: MIT
-- proxy: asks an application server over TCP and returns its page. The route's
-- argument is its address, "127.0.0.1:9578" if there is none.
--
-- The protocol, the same for every client of that server:
--   client:  GET <name>\n       name: [A-Za-z0-9_./-], at most 100 bytes
--   server:  <length>\n<body>   length: decimal, of the body in bytes
--   server:  -1\n               there is no page of that name
-- The connection stays open for the next request, one at a time in order, until
-- either side closes it. Anything else: the server closes.
local address = ... or "127.0.0.1:9578"
local host, port = address:match("^(.+):(%d+)$")
assert(host, "the argument is HOST:PORT, with a numeric host")
port = tonumber(port)

local TIMEOUT_MS, LENGTH_MAX = 5000, 8 * 1024 * 1024

-- The page, or nil and the reason. A kept connection may have been closed by
-- the server at any time: then one more try, on a fresh one, is safe.
local function ask(request, name)
    local reason
    for _ = 1, 2 do
        local peer, failure = request:connect(host, port, TIMEOUT_MS)
        if not peer then
            return nil, "connect: " .. failure
        end
        local line
        line, reason = peer:send("GET " .. name .. "\n")
        if line then
            line, reason = peer:receive("line")
        end
        local length = line and tonumber(line)
        if length and length >= 0 and length <= LENGTH_MAX then
            local body
            body, reason = peer:receive(length)
            if body then
                peer:keep()
                return body
            end
        elseif line then
            peer:close()
            return nil, length == -1 and "no page" or "it answered " .. line
        end
        peer:close()
        if reason ~= "closed" then
            break
        end
    end
    return nil, reason
end

return function(request)
    local name = request:query("page") or "livecode"
    if #name > 100 or not name:find("^[%w_./-]+$") then
        return false
    end
    local page, reason = ask(request, name)
    if reason == "no page" then
        return false
    elseif not page then
        request:log("application server %s: %s", address, reason)
        request:status(502)
        request:header("Content-Type", "text/plain")
        request:write("the application server did not answer\n")
        return
    end
    request:header("Content-Type", "text/html; charset=utf-8")
    request:write(page)
end
