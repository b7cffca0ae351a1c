#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- Broken percent escapes stay as they are, broken UTF-8 becomes U+FFFD, and the C and the Lua greeting agree.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")

local cases = {
    { "%", "%" }, { "%2", "%2" }, { "abc%", "abc%" }, { "%zz", "%zz" }, { "%5G", "%5G" }, { "%%41", "%A" },
    { "%C3", "\xEF\xBF\xBD" }, { "a%26b%3Dc", "a&amp;b=c" }, { "%41%42", "AB" }, { "%c3%bc", "\xC3\xBC" }, { "%2B", "+" },
    { "%+%", "% %" }, { "%4", "%4" }, { "%25", "%" }, { "%2525", "%25" }, { "%u0041", "%u0041" },
    { ("%"):rep(60000), ("%"):rep(60000) }, { ("%4"):rep(30000), nil }, { ("%41"):rep(20000), ("A"):rep(20000) },
}

t.each_engine(function(engine)
    local server = t.server.start { engine = engine, children = 1 }
    for _, case in ipairs(cases) do
        local text, wanted = case[1], case[2]
        local name = #text > 20 and #text .. " bytes of " .. text:sub(1, 4) or text
        local from_c = server:get("/hello?name=" .. text)
        local from_lua = server:get("/lua/hello?name=" .. text)
        t.ok(from_c.status == 200 and (not wanted or from_c.body == "<h1>Hello " .. wanted .. "</h1>"),
            name, ("%s %q"):format(tostring(from_c.status), (from_c.body or ""):sub(1, 100)))
        t.ok(from_lua.body == from_c.body and from_lua.status == from_c.status, name .. ": C and Lua agree",
            ("%q"):format((from_lua.body or ""):sub(1, 100)))
    end
    local raw = server:get("/hello?name=%00x")
    t.ok(raw.complete and raw.status ~= nil and server:get("/lua/hello?name=%00x").body == raw.body,
        "an encoded NUL: C and Lua agree", ("%q"):format(raw.body or ""))
    server:unchanged()
    server:stop()
end)
t.done()
