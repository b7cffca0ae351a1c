#!/usr/bin/env luajit
-- SPDX-License-Identifier: MIT
-- tests/run hides nothing: what was skipped stands at its end with the reason, and a test that
-- cannot run or that nobody would look for fails.
package.path = (arg[0]:match("^(.*)/") or ".") .. "/../../lib/?.lua;" .. package.path
local t = require("testing")

-- A tree with tests/run and the test files <files>: path -> text (shell; "x" first: executable).
local number = 0
local function run(files, ...)
    number = number + 1
    local tree = t.dir .. "/tree-" .. number
    t.process.run { "mkdir", "-p", tree .. "/tests/lib", tree .. "/tests/unit/part", tree .. "/tests/integration/part" }
    t.process.run { "cp", t.root .. "/tests/run", tree .. "/tests" }
    t.process.run { "cp", t.root .. "/tests/lib/run-one", tree .. "/tests/lib" }
    for path, text in pairs(files) do
        t.write_file(tree .. "/" .. path, "#!/bin/sh\n" .. text:sub(2))
        t.process.run { "chmod", text:sub(1, 1) == "x" and "755" or "644", tree .. "/" .. path }
    end
    local command = { tree .. "/tests/run", ... }
    command.env = { BUILD = false, TEST_LOGS = false, AGAIN = false, VERBOSE = false, SANITIZER = false }
    local result = t.process.run(command)
    return result.out, result.status
end

local GOOD = "xecho ok 1 - fine; echo 1..1"
local out, status = run { ["tests/unit/part/good.t"] = GOOD }
t.ok(out == "1 passed, 0 failed\n" and status == 0, "all is well", out)

out, status = run {
    ["tests/unit/part/good.t"] = GOOD,
    ["tests/unit/part/some.t"] = [[x
for name in a b c d; do echo "ok - $name # SKIP wrk is not installed (package wrk)"; done | nl -n ln | sed 's/^\([0-9]*\) *\tok/ok \1/'
echo "ok 5 - e # skip no IPv6"; echo 1..5]],
    ["tests/integration/part/all.t"] = "xecho '1..0 # SKIP mandoc is not installed (package mandoc)'",
}
t.is(status, 0, "skipped tests fail nothing")
t.is(out, [[
SKIP tests/integration/part/all.t: all of it: mandoc is not installed (package mandoc)
SKIP tests/unit/part/some.t: a, b, c and 1 more: wrk is not installed (package wrk)
SKIP tests/unit/part/some.t: e: no IPv6
1 passed, 0 failed, 6 skipped
]], "they stand in the last lines with reason and package")

local function fails(name, files, pattern)
    files["tests/unit/part/good.t"] = GOOD
    out, status = run(files)
    t.ok(status == 1 and out:find(pattern) and out:find("\n%d passed, 1 failed[^\n]*\n$"), name, out)
end
fails("no run bit", { ["tests/unit/part/bare.t"] = "-echo ok 1; echo 1..1" },
    "FAIL tests/unit/part/bare.t: not executable; run: chmod %+x tests/unit/part/bare.t\n")
fails("not built", { ["tests/unit/part/new_test.c"] = "-" }, "FAIL build/tests/unit/part/new_test: not built")
fails("a folder that is not looked through", { ["tests/integration/lost.t"] = GOOD }, "FAIL tests/integration/lost.t: in a folder")
fails("skipped for no reason", { ["tests/unit/part/mute.t"] = "xecho 'ok 1 - it # SKIP'; echo 1..1" },
    "FAIL tests/unit/part/mute.t: skipped without a reason: it\n")
fails("broken off", { ["tests/unit/part/half.t"] = "xecho ok 1 - it; exit 3" }, "ended without a plan, status 3")

out, status = run({ ["tests/unit/part/good.t"] = GOOD, ["tests/unit/part/bare.t"] = "-" }, "good")
t.ok(out == "1 passed, 0 failed\n" and status == 0, "one that was not asked for is left alone", out)
out, status = run({ ["tests/unit/part/good.t"] = GOOD }, "no-such")
t.ok(status == 1 and out:find("no test file matches: no%-such\n"), "no test of that name fails", out)
t.done()
