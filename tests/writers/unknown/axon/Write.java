import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import java.util.Random;
import org.axonframework.eventhandling.GenericDomainEventMessage;
import org.axonframework.extensions.mongo.DefaultMongoTemplate;
import org.axonframework.extensions.mongo.eventsourcing.eventstore.MongoEventStorageEngine;
import org.axonframework.serialization.json.JacksonSerializer;

/** Appends the events of items to Axon's event store, and a snapshot of the longer ones. */
public class Write {
    public record Created(String title, int price) {}

    public record PriceChanged(int price) {}

    static int setting(String name, String otherwise) {
        return Integer.parseInt(System.getenv().getOrDefault(name, otherwise));
    }

    public static void main(String[] none) {
        Random random = new Random(setting("SEED", "7"));
        try (MongoClient client = MongoClients.create(System.getenv("MONGO"))) {
            var template = DefaultMongoTemplate.builder().mongoDatabase(client, "shop").build();
            var json = JacksonSerializer.defaultSerializer();
            var store = MongoEventStorageEngine.builder()
                .mongoTemplate(template).eventSerializer(json).snapshotSerializer(json).build();
            for (int number = 0; number < setting("COUNT", "12"); number++) {
                String id = "item-" + number;
                int last = 1 + random.nextInt(setting("STATES", "20"));
                for (int at = 0; at <= last; at++) {
                    Object happened = at == 0 ? new Created("amber", 1) : new PriceChanged(random.nextInt(90));
                    store.appendEvents(new GenericDomainEventMessage<>("Item", id, at, happened));
                }
                if (last > 3) store.storeSnapshot(new GenericDomainEventMessage<>("Item", id, last, new Created("amber", 9)));
            }
        }
    }
}
