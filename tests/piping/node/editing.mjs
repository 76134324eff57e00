// Edits through the code that `palimpsest adopt` writes: node editing.mjs MODULES FOLDER NS EDITS, as editing.py.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, folder, ns, edits] = process.argv.slice(2);
const { MongoClient, MongoServerError, ObjectId } = createRequire(`${modules}/`)("mongodb");
const { NotSaved, Unknown, VersionedDocuments } = await import(pathToFileURL(`${folder}/versioned_documents.mjs`));
const WRITERS = 3, OF_ONE = 20;
const client = new MongoClient(process.env.PALIMPSEST_PIPE, { retryWrites: false, minHeartbeatFrequencyMS: 20 });
const docs = new VersionedDocuments(client, ObjectId);
await docs.prepare();

async function tell(told, id, mark) {
  for (;;) {
    try {
      return await client.db("shop").command({ ping: 1, comment: { told, ns, id, inc: { [mark]: 1 } } });
    } catch (error) {
      if (error instanceof MongoServerError) throw error;
    }
  }
}

async function outcome(save) {
  try {
    await save();
    return "applied";
  } catch (error) {
    if (error instanceof NotSaved) return "refused";
    if (error instanceof Unknown) return "unknown";
    throw error;
  }
}

async function write(mark) {
  for (let number = 0; number < Number(edits); number++) {
    const id = `K-${Math.floor(number / OF_ONE)}`;
    const save = (await docs.read(id)) === null
      ? () => docs.create(id, { [mark]: 1 })
      : () => docs.edit(id, (doc) => ({ ...doc, [mark]: (doc[mark] ?? 0) + 1 }));
    await tell(await outcome(save), id, mark);
  }
}

await Promise.all(Array.from({ length: WRITERS }, (_, n) => write(`w${n}`)));
process.exit(0); // closing waits for what the pipe keeps silent
