"use strict";
const fs = require("fs");
let text = "";
for (let i = 0; i < 999999; i++) {
    text += " " + i;
    if (text.length > 65536) {
        fs.writeSync(1, text);
        text = "";
    }
}
fs.writeSync(1, text);
