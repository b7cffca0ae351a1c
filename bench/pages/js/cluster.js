// HTTP server with one process per CHILDREN: node cluster.js, with PORT, CHILDREN, BACKLOG set.
"use strict";
const cluster = require("cluster");
const http = require("http");
const answer = require("./pages.js");

const children = Number(process.env.CHILDREN || require("os").cpus().length);

if (cluster.isPrimary) {
    for (let i = 0; i < children; i++) {
        cluster.fork();
    }
    // A process that dies is replaced, so that the pool keeps its size.
    let stopping = false;
    cluster.on("exit", () => stopping || cluster.fork());
    process.on("SIGTERM", () => {
        stopping = true;
        for (const id in cluster.workers) {
            cluster.workers[id].process.kill("SIGTERM");
        }
        process.exit(0);
    });
} else {
    const server = http.createServer(answer);
    server.keepAliveTimeout = 65000;
    server.listen({
        host: "127.0.0.1",
        port: Number(process.env.PORT),
        backlog: Number(process.env.BACKLOG || 511),
    });
}
