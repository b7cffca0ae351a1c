-- SPDX-License-Identifier: MIT
--
-- Addresses of pages in the four forms that the load client takes, in parts. Pure.

local http = require("bench.suite.system.http")

local address = {}

--- The four forms, for messages.
address.forms = "http://host[:port]/path, http+unix:/socket:/path, fcgi://host:port/path or fcgi+unix:/socket:/path"

local PORT_MAX = 65535

local function of_socket(url)
    local protocol, path, page = url:match("^(%l+)%+unix:(/[^:]+):?(.*)$")
    if (protocol ~= "http" and protocol ~= "fcgi") or (page ~= "" and page:sub(1, 1) ~= "/") then
        return nil
    end
    return { protocol = protocol, socket = path, base = ("%s+unix:%s:"):format(protocol, path), path = page ~= "" and page or "/" }
end

local function of_fastcgi(url)
    local authority, page = url:match("^fcgi://([^/?#]+)(/?[^#]*)$")
    local host, port = (authority or ""):match("^%[([%x:.]+)%]:(%d+)$")
    if not host then
        host, port = (authority or ""):match("^([%w._-]+):(%d+)$")
    end
    port = tonumber(port)
    if not port or port < 1 or port > PORT_MAX or (page ~= "" and page:sub(1, 1) ~= "/") then
        return nil
    end
    return { protocol = "fcgi", host = host, port = port, base = "fcgi://" .. authority, path = page ~= "" and page or "/" }
end

local function of_http(url)
    local parts = http.split(url)
    return parts and { protocol = "http", host = parts.host, port = parts.port, base = parts.base, path = parts.path or "/" }
end

--- <url> in parts: {protocol ("http" or "fcgi"), host and port or socket (a path), base (what the path is
-- appended to; the port stands in it), path (with its query, "/" at least)}. nil and what was expected
-- for anything else.
function address.parse(url)
    local parts = of_socket(url) or of_fastcgi(url) or of_http(url)
    if not parts then
        return nil, ("invalid address '%s'; expected %s"):format(url, address.forms)
    end
    return parts
end

--- The address as nginx writes a server of an upstream: "unix:/run/s", "127.0.0.1:80", "[::1]:80".
function address.of_upstream(parts)
    if parts.socket then
        return "unix:" .. parts.socket
    end
    return parts.base:match("^%l+://(.*)$")
end

return address
