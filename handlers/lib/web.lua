-- SPDX-License-Identifier: MIT
--
-- web.lua - what most pages need: local web = require("web")
--
--   web.html(text)            text for HTML, in elements and in quoted attributes; always UTF-8
--   web.utf8(text)            the text, with U+FFFD for each byte that is not UTF-8
--   web.url(text)             text for a part of a URL or for a form: %XX for all but A-Z a-z 0-9 - . _ ~
--   web.decode(text)          the reverse, as forms write it: "+" is a space; a broken %XX stays as it is
--   web.args(request)         the query string as a table: name -> value, of equal names the first
--   web.read(request[, max])  the whole body; nil and a reason if it is longer than max (1 MiB) bytes
--   web.form(request[, max])  the fields of a form that was sent as a body, as web.args(); nil and a reason
--                             if the body is not application/x-www-form-urlencoded, or too long
--   web.cookies(request)      the cookies of the request: name -> value, of equal names the first
--   web.set_cookie(request, name, value[, options])
--                             options: path ("/" unless given), domain, max_age (seconds), secure,
--                             http_only, same_site ("Lax" unless given). The value may have any bytes:
--                             it is sent as web.url(value), which web.cookies() undoes
--   web.redirect(request, location[, status])
--                             303 unless given: "look there with GET". Bytes that a URL may not have are
--                             escaped
--   web.json(request, value[, status])   answers with JSON; nil and a reason if it cannot be encoded
--   web.read_json(request[, max])        the body as a value (JSON null is web.null); nil and a reason
--   web.null                  JSON's null; nil where lua-cjson is not installed
--
-- JSON needs the package lua-cjson; without it the two functions return nil and say so.
local web = {}

local MAX = 1024 * 1024
local REPLACEMENT = "\239\191\189"

-- Bytes of the UTF-8 character at <at> (RFC 3629), or nil.
local function character_bytes(text, at)
    local first, second = text:byte(at, at + 1)
    local bytes = first >= 0xf0 and 4 or first >= 0xe0 and 3 or 2
    if first < 0xc2 or first > 0xf4 or not text:find("^[\128-\191]+", at + 1)
        or #text:match("^[\128-\191]+", at + 1) < bytes - 1 then
        return nil
    end
    local low = first == 0xe0 and 0xa0 or first == 0xf0 and 0x90 or 0x80
    local high = first == 0xed and 0x9f or first == 0xf4 and 0x8f or 0xbf
    return second >= low and second <= high and bytes or nil
end

-- <run>: bytes over 127 only, so no character reaches beyond it.
local function mend(run)
    local parts, at = {}, 1
    while at <= #run do
        local bytes = character_bytes(run, at)
        parts[#parts + 1] = bytes and run:sub(at, at + bytes - 1) or REPLACEMENT
        at = at + (bytes or 1)
    end
    return table.concat(parts)
end

function web.utf8(text)
    return (string.gsub(text, "[\128-\255]+", mend))
end

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

function web.html(text)
    return (web.utf8(text):gsub("[&<>\"']", entities))
end

local function percent(byte)
    return ("%%%02X"):format(byte:byte())
end

function web.url(text)
    return (string.gsub(text, "[^%w%-._~]", percent))
end

local function character(hex)
    return string.char(tonumber(hex, 16))
end

function web.decode(text)
    return (text:gsub("%+", " "):gsub("%%(%x%x)", character))
end

-- Pairs that <separator> parts; <decode> makes names and values of their bytes.
local function pairs_of(text, separator, decode)
    local values = {}
    for pair in text:gmatch("[^" .. separator .. "]+") do
        local name, value = pair:match("^([^=]*)=?(.*)$")
        name = decode(name)
        if values[name] == nil then
            values[name] = decode(value)
        end
    end
    return values
end

function web.args(request)
    return pairs_of(request:param("QUERY_STRING") or "", "&", web.decode)
end

function web.read(request, max)
    max = max or MAX
    local parts, length = {}, 0
    while true do
        local block = request:read()
        if not block then
            return table.concat(parts)
        end
        length = length + #block
        if length > max then
            return nil, ("the body is longer than %d bytes"):format(max)
        end
        parts[#parts + 1] = block
    end
end

local function type_of(request)
    return (request:param("CONTENT_TYPE") or ""):match("^%s*([^;%s]*)"):lower()
end

function web.form(request, max)
    if type_of(request) ~= "application/x-www-form-urlencoded" then
        return nil, ("the body is '%s', expected application/x-www-form-urlencoded"):format(type_of(request))
    end
    local body, reason = web.read(request, max)
    if not body then
        return nil, reason
    end
    return pairs_of(body, "&", web.decode)
end

-- As RFC 6265 has it: parted by ";", blanks around a pair do not count, nor quotes around a value.
local function cookie_text(text)
    text = text:match("^%s*(.-)%s*$")
    return (text:match('^"(.*)"$') or text):gsub("%%(%x%x)", character)
end

function web.cookies(request)
    return pairs_of(request:param("HTTP_COOKIE") or "", ";", function(text)
        return (cookie_text(text))
    end)
end

function web.set_cookie(request, name, value, options)
    options = options or {}
    if not name:find("^[%w!#$%%&'*+%-.^_`|~]+$") then
        error(("set_cookie: '%s' is not a name of a cookie"):format(name), 2)
    end
    local parts = { name .. "=" .. web.url(value), "Path=" .. (options.path or "/") }
    local function add(format, option)
        if option then
            parts[#parts + 1] = format:format(option)
        end
    end
    add("Domain=%s", options.domain)
    add("Max-Age=%d", options.max_age)
    add("Secure", options.secure)
    add("HttpOnly", options.http_only)
    add("SameSite=%s", options.same_site or "Lax")
    for _, part in ipairs(parts) do
        if part:find(";", 1, true) then
            error(("set_cookie: ';' in '%s'"):format(part), 2)
        end
    end
    request:header("Set-Cookie", table.concat(parts, "; "))
end

function web.redirect(request, location, status)
    request:status(status or 303)
    request:header("Location", (location:gsub('[%c "<>\\^`{|}\128-\255]', percent)))
end

local found, cjson = pcall(require, "cjson.safe")
if found then
    web.null = cjson.null
else
    local function missing()
        return nil, "JSON needs lua-cjson: install the package lua-cjson"
    end
    cjson = { encode = missing, decode = missing }
end

function web.json(request, value, status)
    local text, reason = cjson.encode(value)
    if not text then
        return nil, reason
    end
    request:status(status or 200)
    request:header("Content-Type", "application/json")
    return request:write(text)
end

function web.read_json(request, max)
    local body, reason = web.read(request, max)
    if not body then
        return nil, reason
    end
    return cjson.decode(body)
end

return web
