-- SPDX-License-Identifier: MIT
-- hello: greets ?name=, or the world if it is absent or empty. Twin of hello.c.
local web = require("web")

return function(request)
    local name = request:query("name")
    if not name or name == "" then
        name = "world"
    end
    request:header("Content-Type", "text/html; charset=utf-8")
    request:write("<h1>Hello ", web.html(name), "</h1>")
end
