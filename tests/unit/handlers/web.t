#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- handlers/lib/web.lua: what is pure in it, value by value.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")
package.path = t.root .. "/handlers/lib/?.lua;" .. package.path
local web = require("web")

for text, want in pairs {
    [""] = "", ["a<b>&\"'c"] = "a&lt;b&gt;&amp;&quot;&#39;c", ["&amp;"] = "&amp;amp;", ["h\195\169"] = "h\195\169",
    ["\255"] = "\239\191\189", ["<\195"] = "&lt;\239\191\189", [7] = "7",
} do
    t.is(web.html(text), want, ("html(%q)"):format(text))
end

local R = "\239\191\189"
for _, case in ipairs {
    { "plain", "plain" }, { "\194\162\226\130\172\240\144\141\136", "\194\162\226\130\172\240\144\141\136" },
    { "a\128b", "a" .. R .. "b" }, { "\192\175", R .. R }, { "\224\159\191", R .. R .. R },
    { "\237\160\128", R .. R .. R }, { "\244\144\128\128", R .. R .. R .. R }, { "\245\128\128\128", R .. R .. R .. R },
    { "\226\130", R .. R }, { "\226\130x", R .. R .. "x" }, { "\195\169\195", "\195\169" .. R },
    { "\237\159\191", "\237\159\191" }, { "\244\143\191\191", "\244\143\191\191" }, { "\240\143\191\191", R .. R .. R .. R },
} do
    t.is(web.utf8(case[1]), case[2], ("utf8(%q)"):format(case[1]))
end

for text, want in pairs { ["a b&c=d/e?f"] = "a%20b%26c%3Dd%2Fe%3Ff", ["AZaz09-._~"] = "AZaz09-._~", ["\195\169\0"] = "%C3%A9%00", [""] = "" } do
    t.is(web.url(text), want, ("url(%q)"):format(text))
    t.is(web.decode(want), text, ("decode(%q)"):format(want))
end
for text, want in pairs { ["a+b"] = "a b", ["%2B"] = "+", ["%zz%4"] = "%zz%4", ["%41%"] = "A%", ["%2541"] = "%41" } do
    t.is(web.decode(text), want, ("decode(%q)"):format(text))
end
for byte = 0, 255 do
    local text = string.char(byte)
    if web.decode(web.url(text)) ~= text then
        t.is(web.decode(web.url(text)), text, "byte " .. byte .. " comes back")
    end
end
t.is(pcall(web.html, nil), false, "html(nil) is an error")
t.done()
