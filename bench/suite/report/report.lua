-- The reports of a run, from its results alone: report.md and report.html.

local files = require("bench.suite.system.files")
local report = {}

--- Writes both reports for <record> into <folder>; returns the list of their paths. Results of a
-- tuning run have reports of their own.
function report.write(record, folder)
    local written = {}
    if record.tunings then
        require("bench.suite.tune.tune_text").write(record, folder)
        return { folder .. "/report.html", folder .. "/report.md" }
    end
    for name, render in pairs({
        ["report.md"] = require("bench.suite.report.report_markdown").render,
        ["report.html"] = require("bench.suite.report.report_html").render,
    }) do
        local path = folder .. "/" .. name
        local ok, reason = files.write(path, render(record))
        if not ok then
            error(path .. " cannot be written: " .. tostring(reason), 0)
        end
        written[#written + 1] = path
    end
    table.sort(written)
    return written
end

return report
