-- SPDX-License-Identifier: MIT
-- sleep: answers after ?ms= milliseconds (0 to 60000, 400 if absent). Same
-- answers as sleep.c, but the child serves others meanwhile.
local MS_DEFAULT, MS_MAX = 400, 60000

return function(request)
    local text = request:query("ms")
    local ms = MS_DEFAULT
    if text then
        ms = text:find("^%d+$") and tonumber(text)
    end
    request:header("Content-Type", "text/plain")
    if not ms or ms > MS_MAX then
        request:status(400)
        request:print("ms must be a whole number from 0 to %d\n", MS_MAX)
        return
    end
    request:sleep(ms)
    request:print("slept %d ms\n", ms)
end
