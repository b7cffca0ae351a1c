"use strict";
const max = 999;
let text = "<table>";
for (let r = 0; r < max; r++) {
    text += "<tr>";
    for (let c = 0; c < r; c++) {
        text += "<td>" + r + " " + c + "</td>";
    }
    text += "</tr>";
}
text += "</table>";
