// Nine ways of saving that articles recommend: java Mistakes.java NAME EDITS ID, as mistakes.py has them.

import com.mongodb.ConnectionString;
import com.mongodb.ErrorCategory;
import com.mongodb.MongoClientSettings;
import com.mongodb.MongoException;
import com.mongodb.MongoSocketException;
import com.mongodb.MongoConnectionPoolClearedException;
import com.mongodb.MongoWriteException;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.model.UpdateOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import java.util.function.Supplier;
import org.bson.Document;
import org.bson.types.ObjectId;

public class Mistakes {
    static final int WRITERS = 3, TRIES = 6;
    static MongoDatabase db;
    static MongoCollection<Document> docs, past;

    static boolean lost(MongoException error) {
        return error instanceof MongoSocketException || error instanceof MongoConnectionPoolClearedException;
    }

    static <T> T twice(Supplier<T> send) {
        try {
            return send.get();
        } catch (MongoException error) {
            if (!lost(error)) throw error;
            return send.get();
        }
    }

    static <T> T read(Supplier<T> ask) {
        for (int n = 0; n < 20; n++) {
            try {
                return ask.get();
            } catch (MongoException error) {
                if (!lost(error)) throw error;
            }
        }
        throw new IllegalStateException("the pipe does not answer");
    }

    static Document newest(String id) {
        return read(() -> docs.find(new Document("docId", id)).sort(new Document("v", -1)).first());
    }

    static Document stored(String id) {
        return read(() -> docs.find(new Document("_id", id)).first());
    }

    static Document bare(Document doc) {
        Document copy = new Document(doc);
        copy.remove("_id");
        return copy;
    }

    static Document marked(Document doc, String mark) {
        return bare(doc).append("v", doc.getInteger("v") + 1).append(mark, doc.getInteger(mark, 0) + 1);
    }

    static boolean insert(MongoCollection<Document> into, Document doc) {
        try {
            into.insertOne(bare(doc));
            return true;
        } catch (MongoWriteException error) {
            if (error.getError().getCategory() == ErrorCategory.DUPLICATE_KEY) return false;
            throw error;
        }
    }

    static boolean update(Document where, Document change, boolean upsert) {
        return twice(() -> docs.updateOne(where, change, new UpdateOptions().upsert(upsert))).getMatchedCount() > 0;
    }

    static boolean swap(String id, Document base, String mark) {
        Document where = new Document("_id", id).append("v", base.get("v"));
        return twice(() -> docs.replaceOne(where, marked(base, mark))).getMatchedCount() > 0;
    }

    static boolean duplicateIsSuccess(String id, String mark) {
        Document doc = marked(newest(id), mark);
        try {
            return insert(docs, doc);
        } catch (MongoException error) {
            if (!lost(error)) throw error;
            insert(docs, doc);
            return true; // "a duplicate: it must have been mine"
        }
    }

    static boolean flagged(String id, String mark) {
        Document base = newest(id);
        if (!twice(() -> insert(docs, marked(base, mark).append("current", true)))) return false;
        update(new Document("docId", id).append("v", base.get("v")), Document.parse("{$unset: {current: ''}}"), false);
        return true;
    }

    static boolean embedded(String id, String mark) {
        Document base = stored(id).get("current", Document.class);
        Document change = new Document("$set", new Document("current", marked(base, mark)));
        change.append("$push", new Document("prev", base));
        return update(new Document("_id", id).append("current.v", base.get("v")), change, false);
    }

    static boolean currentFirst(String id, String mark) {
        Document base = stored(id);
        if (!swap(id, base, mark)) return false;
        twice(() -> insert(past, new Document(base).append("docId", id)));
        return true;
    }

    static boolean archiveInserted(String id, String mark) {
        Document base = stored(id);
        return twice(() -> insert(past, new Document(base).append("docId", id))) && swap(id, base, mark);
    }

    static boolean archiveSet(String id, String mark) {
        Document base = stored(id), body = bare(base);
        body.remove("v");
        Document where = new Document("docId", id).append("v", base.get("v"));
        Document change = new Document("$set", body.append("docId", id));
        twice(() -> past.updateOne(where, change, new UpdateOptions().upsert(true)));
        return swap(id, base, mark);
    }

    static boolean raisedTwice(String id, String mark) {
        update(new Document("_id", id), new Document("$inc", new Document(mark, 1)), true);
        return true;
    }

    static boolean twoSteps(String id, String mark) {
        Document pending = new Document("pending", new ObjectId());
        update(new Document("_id", id), new Document("$addToSet", pending), true);
        Document change = new Document("$pull", pending).append("$inc", new Document(mark, 1));
        update(new Document("_id", id).append("pending", pending.get("pending")), change, false);
        return true;
    }

    static boolean replaced(String id, String mark) {
        Document doc = bare(stored(id));
        twice(() -> docs.replaceOne(new Document("_id", id), doc.append(mark, doc.getInteger(mark, 0) + 1)));
        return true;
    }

    static final Map<String, BiPredicate<String, String>> MISTAKES = Map.of(
        "duplicate-is-success", Mistakes::duplicateIsSuccess,
        "flagged", Mistakes::flagged,
        "embedded", Mistakes::embedded,
        "current-first", Mistakes::currentFirst,
        "archive-inserted", Mistakes::archiveInserted,
        "archive-set", Mistakes::archiveSet,
        "raised-twice", Mistakes::raisedTwice,
        "two-steps", Mistakes::twoSteps,
        "replaced", Mistakes::replaced);

    static void write(BiPredicate<String, String> edit, String id, String mark, int edits) {
        for (int number = 0; number < edits; number++) {
            String told = "unknown";
            try {
                for (int n = 0; n < TRIES && told.equals("unknown"); n++) if (edit.test(id, mark)) told = "applied";
            } catch (MongoException error) {
                if (!lost(error)) throw error;
            }
            Document comment = new Document("told", told).append("ns", "shop.docs").append("id", id);
            comment.append("inc", new Document(mark, 1));
            read(() -> db.runCommand(new Document("ping", 1).append("comment", comment)));
        }
    }

    public static void main(String[] words) throws InterruptedException {
        MongoClientSettings settings = MongoClientSettings.builder()
            .applyConnectionString(new ConnectionString(System.getenv("PALIMPSEST_PIPE")))
            .retryWrites(false)
            .applyToServerSettings(each -> each.minHeartbeatFrequency(20, TimeUnit.MILLISECONDS))
            .build();
        try (MongoClient client = MongoClients.create(settings)) {
            db = client.getDatabase("shop");
            docs = db.getCollection("docs");
            past = db.getCollection("docs_past");
            List<Thread> threads = new ArrayList<>();
            for (int n = 0; n < WRITERS; n++) {
                String mark = "w" + n;
                threads.add(new Thread(() -> write(MISTAKES.get(words[0]), words[2], mark, Integer.parseInt(words[1]))));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) thread.join();
        }
    }
}
