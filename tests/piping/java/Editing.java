// Edits through the code that `palimpsest adopt` writes: Editing NS EDITS, as editing.py.

import com.mongodb.ConnectionString;
import com.mongodb.MongoClientSettings;
import com.mongodb.MongoException;
import com.mongodb.MongoServerException;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bson.Document;

public class Editing {
    static final int WRITERS = 3, OF_ONE = 20;
    static MongoClient client;
    static String ns;

    static void tell(String told, String id, String mark) {
        Document comment = new Document("told", told).append("ns", ns).append("id", id);
        comment.append("inc", new Document(mark, 1));
        while (true) {
            try {
                client.getDatabase("shop").runCommand(new Document("ping", 1).append("comment", comment));
                return;
            } catch (MongoException error) {
                if (error instanceof MongoServerException) throw error;
            }
        }
    }

    static String outcome(Runnable save) {
        try {
            save.run();
            return "applied";
        } catch (VersionedDocuments.NotSaved error) {
            return "refused";
        } catch (VersionedDocuments.Unknown error) {
            return "unknown";
        }
    }

    static void write(VersionedDocuments docs, String mark, int edits) {
        for (int number = 0; number < edits; number++) {
            String id = "K-" + number / OF_ONE;
            Runnable save = docs.read(id) == null
                ? () -> docs.create(id, new Document(mark, 1))
                : () -> docs.edit(id, doc -> doc.append(mark, doc.getInteger(mark, 0) + 1));
            tell(outcome(save), id, mark);
        }
    }

    public static void main(String[] words) throws InterruptedException {
        ns = words[0];
        MongoClientSettings settings = MongoClientSettings.builder()
            .applyConnectionString(new ConnectionString(System.getenv("PALIMPSEST_PIPE")))
            .retryWrites(false)
            .applyToServerSettings(each -> each.minHeartbeatFrequency(20, TimeUnit.MILLISECONDS))
            .build();
        client = MongoClients.create(settings);
        VersionedDocuments docs = new VersionedDocuments(client);
        List<Thread> threads = new ArrayList<>();
        for (int n = 0; n < WRITERS; n++) {
            String mark = "w" + n;
            threads.add(new Thread(() -> write(docs, mark, Integer.parseInt(words[1]))));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) thread.join();
        client.close();
    }
}
