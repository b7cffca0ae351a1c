-- The pages of the nginx-lua stacks, as functions that return a type and a body.

local page = {}

local text, html = "text/plain", "text/html; charset=utf-8"

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

function page.echo()
    return text, "hello world\n"
end

function page.light()
    return text, "echo"
end

function page.david()
    return text, "Hello, david!\n"
end

function page.hello(arguments)
    local name = arguments.name
    name = type(name) == "table" and name[1] or type(name) == "string" and name or ""
    return html, "<h1>Hello " .. name:gsub("[&<>\"']", escapes) .. "</h1>"
end

function page.slow()
    ngx.sleep(0.401) -- timers here count whole milliseconds and may end one early
    return text, "slept 400 ms\n"
end

function page.table()
    local parts = { "<table>" }
    for row = 0, 98 do
        parts[#parts + 1] = "<tr>"
        for column = 0, row - 1 do
            parts[#parts + 1] = "<td>" .. row .. " " .. column .. "</td>"
        end
        parts[#parts + 1] = "</tr>"
    end
    parts[#parts + 1] = "</table>"
    return html, table.concat(parts)
end

function page.livecode()
    return html, "<br /><p align='center'>Hello World from testbed 1.0</p><p align='center'>on "
        .. os.date("!%Y-%m-%d") .. "</p>"
end

-- No address, and by name: every worker of every run prints the same page.
local function shown(value)
    local kind = type(value)
    return (kind == "string" or kind == "number" or kind == "boolean") and tostring(value) or kind
end

local function sorted_names(value)
    local names = {}
    for key in pairs(value) do
        names[#names + 1] = key
    end
    table.sort(names, function(a, b)
        return tostring(a) < tostring(b)
    end)
    return names
end

local function show(lines, name, value, depth, seen)
    local line = ("  "):rep(depth) .. shown(name)
    if type(value) ~= "table" then
        lines[#lines + 1] = line .. " = " .. shown(value)
    elseif seen[value] then
        lines[#lines + 1] = line .. " = (seen)"
    else
        seen[value] = true
        lines[#lines + 1] = line
        for _, key in ipairs(sorted_names(value)) do
            show(lines, key, value[key], depth + 1, seen)
        end
    end
end

function page.globals()
    local lines = {}
    show(lines, "_G", getmetatable(_G).__index or _G, 0, {})
    return text .. "; charset=utf-8", table.concat(lines, "\n") .. "\n"
end

-- The page of the application server, over a cosocket: the worker serves others meanwhile.
-- Protocol: see app-server.lua.
function page.proxy()
    local host, port = os.getenv("APPLICATION_SERVER"):match("^(.*):(%d+)$")
    local peer = ngx.socket.tcp()
    peer:settimeout(5000)
    local ok, reason = peer:connect(host, tonumber(port))
    if not ok then
        return nil, reason
    end
    peer:send("GET livecode\n")
    local length, body
    length, reason = peer:receive("*l")
    if length then
        body, reason = peer:receive(tonumber(length))
    end
    if not body then
        peer:close()
        return nil, reason
    end
    if os.getenv("APPLICATION_SERVER_KEPT") then
        peer:setkeepalive(60000, 128)
    else
        peer:close()
    end
    return html, body
end

--- Answers the request with page <name>.
function page.answer(name)
    local kind, body = page[name](ngx.req.get_uri_args())
    if not kind then
        ngx.log(ngx.ERR, "application server: ", body)
        return ngx.exit(502)
    end
    ngx.header["Content-Type"] = kind
    ngx.header["Content-Length"] = #body
    ngx.print(body)
end

return page
