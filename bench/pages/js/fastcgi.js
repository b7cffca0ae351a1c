// FastCGI server on descriptor 0, as spawn-fcgi hands it over: V8 behind FastCGI.
"use strict";
const fastcgi = require("node-fastcgi");
const answer = require("./pages.js");

fastcgi.createServer(answer).listen({ fd: 0 });
process.on("SIGTERM", () => process.exit(0));
