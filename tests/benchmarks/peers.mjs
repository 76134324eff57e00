// Measures one peer at documents, one a line: node peers.mjs PEER FILE SECONDS compares each with the one before and
// prints a line of JSON for each pair: milliseconds, the best of several runs, and how many operations were found.
// With "cpu" behind the seconds they are of the processor, not of the clock. A peer with ", decoding" behind its name
// begins from the lines, so that reading both documents counts.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

const [, , name, file, seconds, kind] = process.argv;
const decoding = name.endsWith(", decoding");
const peer = name.replace(", decoding", "");
const budget = 1000 * Number(seconds);

function clock() {
  if (kind !== "cpu") return performance.now();
  const used = process.cpuUsage();
  return (used.user + used.system) / 1000;
}

// An array's change ends a path; everything else that jsondiffpatch gives leads on.
function leaves(delta) {
  let count = 0;
  const waiting = [delta];
  while (waiting.length) {
    const one = waiting.pop();
    if (Array.isArray(one)) count++;
    else if (one) for (const name of Object.keys(one)) if (name !== "_t") waiting.push(one[name]);
  }
  return count;
}

let compare, count;
if (peer === "fast-json-patch") {
  const { default: patch } = await import("fast-json-patch");
  compare = patch.compare;
  count = (found) => found.length;
} else {
  const { create } = await import("jsondiffpatch");
  const hashed = { objectHash: (o) => o._id ?? JSON.stringify(o) };
  const differ = create(peer === "jsondiffpatch" ? hashed : {});
  compare = (a, b) => differ.diff(a, b);
  count = leaves;
}

let before;
for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
  const now = decoding ? line : JSON.parse(line);
  if (before !== undefined) {
    let best = Infinity, found;
    const began = performance.now();
    for (let runs = 1; ; runs++) {
      const start = clock();
      found = decoding ? compare(JSON.parse(before), JSON.parse(now)) : compare(before, now);
      best = Math.min(best, clock() - start);
      const end = performance.now();
      if (end - began > budget && (runs >= 3 || end - began > 10 * budget)) break;
    }
    console.log(JSON.stringify([best, count(found)]));
  }
  before = now;
}
