// Measures one peer at two documents: node peers.mjs PEER FILE prints milliseconds, the best of several runs.
import { readFileSync } from "node:fs";

const [, , peer, file] = process.argv;
const [a, b] = JSON.parse(readFileSync(file, "utf8"));
let work;
if (peer === "jsondiffpatch") {
  const { create } = await import("jsondiffpatch");
  const differ = create({ objectHash: (o) => o._id ?? JSON.stringify(o) });
  work = () => differ.diff(a, b);
} else {
  const { default: patch } = await import("fast-json-patch");
  work = () => patch.compare(a, b);
}
let best = Infinity;
const began = performance.now();
for (let runs = 1; ; runs++) {
  const start = performance.now();
  work();
  const end = performance.now();
  best = Math.min(best, end - start);
  if (end - began > 1000 && (runs >= 3 || end - began > 10000)) break;
}
console.log(best);
