"use strict";
const a = new Array(1000).fill(0);
for (let z = 0; z < 999999; z++) {
    const k = z * z % 1000;
    a[k] += k;
}
a.join("");
