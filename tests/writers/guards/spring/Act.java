import com.mongodb.client.MongoClients;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.Version;
import org.springframework.data.mongodb.core.MongoTemplate;
import org.springframework.data.mongodb.core.mapping.Document;

/** Creates, reads and saves items as Spring Data does, one command a line; the answer to each is one line. */
public class Act {
    public static class Line {
        public String sku;
        public int qty;
    }

    @Document("items")
    public static class Item {
        @Id public String id;
        public String title;
        public List<Line> lines = new ArrayList<>();
        @Version public Long version;
    }

    static MongoTemplate template;
    static final Map<String, Item> held = new HashMap<>(); // who -> the item as it was read

    static String create(String[] words) {
        Item item = new Item();
        item.id = words[1];
        item.title = "new";
        for (int at = 2; at < words.length; at++) {
            Line line = new Line();
            line.sku = words[at];
            item.lines.add(line);
        }
        template.save(item);
        return "done";
    }

    static String read(String[] words) {
        held.put(words[1], template.findById(words[2], Item.class));
        return "done";
    }

    static String save(String[] words) {
        Item item = held.get(words[1]);
        item.lines.stream().filter(line -> line.sku.equals(words[2])).forEach(line -> line.qty += 1);
        try {
            template.save(item);
            return "saved";
        } catch (RuntimeException error) {
            return error.getClass().getSimpleName() + " " + String.valueOf(error.getMessage()).split("\n")[0];
        }
    }

    public static void main(String[] arguments) throws Exception {
        template = new MongoTemplate(MongoClients.create(System.getenv("MONGO")), "shop");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String said = commands.readLine(); said != null; said = commands.readLine()) {
            String[] words = said.split(" ");
            switch (words[0]) {
                case "create" -> System.out.println(create(words));
                case "read" -> System.out.println(read(words));
                default -> System.out.println(save(words));
            }
        }
        System.exit(0);
    }
}
