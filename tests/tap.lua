-- Test Anything Protocol for tests written in Lua: numbers the results, prints the plan last.

local tap = {}
local count, failed = 0, 0

--- One result; <name> says what is shown. Returns <condition>.
function tap.ok(condition, name)
    count = count + 1
    failed = failed + (condition and 0 or 1)
    print(("%s %d - %s"):format(condition and "ok" or "not ok", count, (name or ""):gsub("#", "\\#")))
    return condition
end

--- A comment line, for what a reader of a failure needs.
function tap.diag(text)
    print("# " .. tostring(text):gsub("\n", "\n# "))
end

--- Equality of plain values; both are printed when they differ.
function tap.is(got, want, name)
    if not tap.ok(got == want, name) then
        tap.diag(("got:  %s\nwant: %s"):format(tostring(got), tostring(want)))
    end
    return got == want
end

--- <text> matches the Lua pattern <pattern>.
function tap.like(text, pattern, name)
    local matches = type(text) == "string" and text:find(pattern) ~= nil
    if not tap.ok(matches, name) then
        tap.diag(("got:     %s\npattern: %s"):format(tostring(text), pattern))
    end
    return matches
end

--- The whole file is skipped, with the reason.
function tap.skip_all(reason)
    print("1..0 # SKIP " .. reason)
    os.exit(0)
end

--- Prints the plan; ends the program with 1 when something failed.
function tap.done()
    print("1.." .. count)
    os.exit(failed == 0 and 0 or 1)
end

return tap
