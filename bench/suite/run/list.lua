-- bench/bench list: the documents with their comparisons, the stacks and what is missing.

local documents = require("bench.suite.run.documents")
local stack = require("bench.suite.bring_up.stack")

local list = {}

local function print_documents(root)
    print("documents")
    for _, name in ipairs(documents.names()) do
        local document = documents.load(name, root .. "/bench/documents")
        print(("  %-16s %s  %s"):format(name, document.year or "own ", document.title))
        if document.programs then
            print(("    %-16s %s"):format(document.programs.name, document.programs.title))
        end
        for _, comparison in ipairs(document.comparisons) do
            local labels = {}
            for i, arm in ipairs(comparison.arms) do
                labels[i] = arm.label
            end
            print(("    %-16s %s"):format(comparison.name, comparison.title))
            print(("    %-16s %s"):format("", table.concat(labels, ", ")))
        end
        for _, experiment in ipairs(document.experiments) do
            print(("    %-16s provoked on purpose"):format(experiment))
        end
    end
end

local function print_stacks()
    print("stacks")
    for _, name in ipairs(stack.names()) do
        local description, reason = stack.describe(name)
        local pages = {}
        for page in pairs(description and description.pages or {}) do
            pages[#pages + 1] = page
        end
        table.sort(pages)
        print(("  %-20s %s"):format(name, description and description.title or reason))
        print(("  %-20s %s"):format("", stack.missing(name) or "pages: " .. table.concat(pages, " ")))
    end
end

--- Prints both lists; returns the exit code.
function list.print(root)
    print_documents(root)
    print_stacks()
    return 0
end

return list
