std = "luajit"
max_line_length = 160
-- Handlers see the server's request functions; configurations see what they may set.
files["conf/*.lua"] = { std = "luajit", allow_defined_top = true, ignore = { "111", "112", "113", "131" } }
exclude_files = { "tests/fixtures/syntax.lua" } -- its fault is its purpose
files["bench/documents/*.lua"] = { max_line_length = 200 } -- tables, one published row a line
files["tests/unit/suite/classify.t"] = { max_line_length = false } -- recorded log lines
files["bench/pages/lua/*.lua"] = { std = "ngx_lua+luajit", ignore = { "122" } } -- pages inside nginx
files["bench/suite/*/report_*.lua"] = { max_line_length = 200 } -- lines of HTML
