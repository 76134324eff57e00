// What becomes of theirs with jsondiffpatch's delta from base to mine: node merging.mjs FILE, where each line is
// [base, mine, theirs]. Prints {"merged": …} or {} for each.
import { readFileSync } from "node:fs";
import { create } from "jsondiffpatch";

const differ = create({ objectHash: (o) => o._id ?? JSON.stringify(o) });
for (const line of readFileSync(process.argv[2], "utf8").split("\n")) {
  const [base, mine, theirs] = JSON.parse(line);
  let merged;
  try {
    merged = differ.patch(theirs, differ.diff(base, mine));
  } catch {
    merged = undefined;
  }
  console.log(JSON.stringify({ merged }));
}
