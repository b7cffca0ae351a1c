-- SPDX-License-Identifier: MIT
-- echo: a static text, the route's argument. Twin of echo.c.
local text = ... or "hello world\n"

return function(request)
    request:header("Content-Type", "text/plain")
    request:write(text)
end
