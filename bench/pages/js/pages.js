// The pages of both Node stacks: the cluster and the one behind FastCGI.
"use strict";

function escape(text) {
    const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
    return text.replace(/[&<>"']/g, (c) => names[c]);
}

function send(response, type, body) {
    response.writeHead(200, { "Content-Type": type, "Content-Length": Buffer.byteLength(body) });
    response.end(body);
}

function hello(query) {
    return "<h1>Hello " + escape(query.get("name") || "") + "</h1>";
}

// String concatenation on purpose: that is what the comparison is about.
function table(max) {
    let page = "<table>";
    for (let row = 0; row < max; row++) {
        page += "<tr>";
        for (let column = 0; column < row; column++) {
            page += "<td>" + row + " " + column + "</td>";
        }
        page += "</tr>";
    }
    return page + "</table>";
}

// All global variables, recursively; what was shown before is cut.
function globals() {
    const seen = new Set();
    const lines = [];
    function show(name, value, depth) {
        const indent = "  ".repeat(depth);
        if (value === null || (typeof value !== "object" && typeof value !== "function")) {
            lines.push(indent + name + " = " + String(value));
        } else if (seen.has(value) || depth > 4) {
            lines.push(indent + name + " = (seen)");
        } else {
            seen.add(value);
            lines.push(indent + name + " " + typeof value);
            for (const key of Object.getOwnPropertyNames(value)) {
                const property = Object.getOwnPropertyDescriptor(value, key);
                if (property && "value" in property) {
                    show(key, property.value, depth + 1);
                }
            }
        }
    }
    show("globalThis", globalThis, 0);
    return lines.join("\n") + "\n";
}

const text = "text/plain";
const html = "text/html; charset=utf-8";
const routes = {
    "/echo": (query, response) => send(response, text, "hello world\n"),
    "/light": (query, response) => send(response, text, "echo"),
    "/david": (query, response) => send(response, text, "Hello, david!\n"),
    "/hello": (query, response) => send(response, html, hello(query)),
    "/table": (query, response) => send(response, html, table(99)),
    "/globals": (query, response) => send(response, text, globals()),
    "/slow": (query, response) => setTimeout(() => send(response, text, "slept 400 ms\n"), 401),
};

module.exports = function answer(request, response) {
    const [path, query] = request.url.split("?", 2);
    const page = routes[path];
    if (page) {
        page(new URLSearchParams(query || ""), response);
    } else {
        response.writeHead(404, { "Content-Type": text });
        response.end("not found\n");
    }
};
