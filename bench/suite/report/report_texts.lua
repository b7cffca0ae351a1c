-- The fixed texts of report.html: the style sheet and the page's explanation of its method, each in
-- a file of its own beside this one.

local files = require("bench.suite.system.files")

local folder = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."

local method = assert(files.read(folder .. "/report_method.html"))

return {
    css = assert(files.read(folder .. "/report.css")),
    method = method,
    -- Where nothing was published there is nothing to say about it.
    method_own = (method:gsub("<p><b>Published figures</b>.-</p>\n", "")),
}
