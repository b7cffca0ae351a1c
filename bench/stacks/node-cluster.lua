return {
    title = "Node.js (V8) alone, HTTP by a cluster of processes",
    needs = { "node" },
    pages = {
        echo = "/echo",
        light = "/light",
        david = "/david",
        hello = "/hello?name=john",
        slow = "/slow",
        table = "/table",
        globals = "/globals",
    },
    takes = { "children", "backlog", "front_backlog" },
    variants = {
        documented = {
            options = { children = "cpus", backlog = 511 },
            reasons = { "one process per processor and Node's own listen queue of 511, as in the document" },
        },
        tuned = {
            options = { children = "cpus", backlog = 4096 },
            reasons = { "listen queue 4096: bursts of clients wait instead of trying again after 1, 3 and 9 s" },
        },
    },
    build = function(s)
        s.logs.server_log = s.folder .. "/node.log"
        return {
            s:program({
                name = "node",
                argv = { s:find("node"), s.root .. "/bench/pages/js/cluster.js" },
                env = {
                    PORT = tostring(s.port),
                    CHILDREN = tostring(s.children),
                    BACKLOG = tostring(s.options.front_backlog or s.backlog),
                },
                log = s.logs.server_log,
            }),
        }
    end,
}
