import static java.time.format.DateTimeFormatter.ISO_LOCAL_DATE_TIME;

import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.bson.Document;
import org.bson.json.JsonMode;
import org.bson.json.JsonWriterSettings;
import org.javers.core.Javers;
import org.javers.core.JaversBuilder;
import org.javers.core.metamodel.annotation.Id;
import org.javers.repository.mongo.MongoRepository;

/** Commits items with parts to JaVers, keeps them in a collection of their own, and prints each state. */
public class Write {
    public static class Line {
        String sku;
        int qty;
        String note;
    }

    public static class Address {
        String street;
        String city;
    }

    public static class Item {
        @Id String id;
        String title;
        double price;
        int stock;
        boolean active;
        LocalDateTime due;
        List<String> tags = new ArrayList<>();
        Address address = new Address();
        List<Line> lines = new ArrayList<>();
        String text;
    }

    static final String[] WORDS = "amber brass cedar delta ember flint grove hazel ivory größe 東京".split(" ");
    static Random random;
    static int lines;

    static String words(int count) {
        StringBuilder made = new StringBuilder();
        for (int i = 0; i < count; i++) made.append(i > 0 ? " " : "").append(WORDS[random.nextInt(WORDS.length)]);
        return made.toString();
    }

    static LocalDateTime date() {
        return LocalDateTime.of(2020 + random.nextInt(6), 1 + random.nextInt(12), 1 + random.nextInt(28),
            random.nextInt(24), random.nextInt(60), random.nextInt(60));
    }

    static Line line() {
        Line made = new Line();
        made.sku = "S-" + ++lines;
        made.qty = 1 + random.nextInt(9);
        made.note = words(2);
        return made;
    }

    static Document stored(Item item) {
        List<Document> parts = new ArrayList<>();
        for (Line line : item.lines) {
            parts.add(new Document("sku", line.sku).append("qty", line.qty).append("note", line.note));
        }
        Document address = new Document("street", item.address.street).append("city", item.address.city);
        return new Document("_id", item.id).append("title", item.title).append("price", item.price)
            .append("stock", item.stock).append("active", item.active).append("due", item.due.format(ISO_LOCAL_DATE_TIME))
            .append("tags", new ArrayList<>(item.tags)).append("address", address).append("lines", parts)
            .append("text", item.text);
    }

    static void tell(String kind, Item item) {
        Document state = kind.equals("removed") ? null : stored(item);
        Document said = new Document("ns", "shop.items").append("id", item.id).append("kind", kind).append("state", state);
        System.out.println(said.toJson(JsonWriterSettings.builder().outputMode(JsonMode.EXTENDED).build()));
    }

    static void change(Item item) {
        switch (random.nextInt(9)) {
            case 0 -> item.title = words(3);
            case 1 -> item.price += 1.25;
            case 2 -> item.stock++;
            case 3 -> item.active = !item.active;
            case 4 -> item.due = date();
            case 5 -> item.tags.add(words(1));
            case 6 -> item.tags = new ArrayList<>(item.tags.subList(1, item.tags.size()));
            case 7 -> item.lines.add(line());
            default -> item.lines.get(0).qty++;
        }
        if (item.tags.isEmpty()) item.tags.add(words(1));
        if (item.lines.size() > 2) item.lines.remove(0);
        if (random.nextInt(4) == 0) item.address.city = words(1);
    }

    static int setting(String name, String otherwise) {
        return Integer.parseInt(System.getenv().getOrDefault(name, otherwise));
    }

    public static void main(String[] none) {
        random = new Random(setting("SEED", "7"));
        try (MongoClient client = MongoClients.create(System.getenv("MONGO"))) {
            var db = client.getDatabase("shop");
            MongoCollection<Document> items = db.getCollection("items");
            Javers javers = JaversBuilder.javers().registerJaversRepository(new MongoRepository(db)).build();
            for (int number = 0; number < setting("COUNT", "12"); number++) {
                Item item = new Item();
                item.id = "K-" + number;
                item.title = words(3);
                item.price = 10 + random.nextInt(1000) / 4.0;
                item.stock = random.nextInt(50);
                item.active = random.nextBoolean();
                item.due = date();
                item.tags.add(words(1));
                item.address.street = words(2);
                item.address.city = words(1);
                item.lines.add(line());
                item.lines.add(line());
                item.text = words(30);
                items.insertOne(stored(item));
                javers.commit("ana", item, Map.of("reason", "imported"));
                tell("created", item);
                int changes = 1 + random.nextInt(setting("STATES", "20"));
                for (int at = 0; at < changes; at++) {
                    Document before = stored(item);
                    change(item);
                    if (stored(item).equals(before)) continue;
                    items.replaceOne(new Document("_id", item.id), stored(item));
                    javers.commit(random.nextBoolean() ? "ana" : "ben", item, Map.of("reason", "edit " + at));
                    tell("saved", item);
                }
                if (number % 5 == 4) {
                    items.deleteOne(new Document("_id", item.id));
                    javers.commitShallowDelete("ben", item);
                    tell("removed", item);
                }
            }
        }
    }
}
