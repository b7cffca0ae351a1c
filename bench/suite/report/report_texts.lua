-- The fixed texts of report.html: the style sheet and the page's explanation of its method, each in
-- a file of its own beside this one.

local files = require("bench.suite.system.files")

local folder = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."

return {
    css = assert(files.read(folder .. "/report.css")),
    method = assert(files.read(folder .. "/report_method.html")),
}
