import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.Arrays;
import java.util.List;

/** Serves an empty database in memory on a port of its own, prints the port, and ends with its standard input. */
public class Launcher {
    public static void main(String[] arguments) throws Exception {
        MemoryBackend backend = new MemoryBackend();
        backend.version(new MongoVersion() { // its own versions end at wire version 8, below what drivers accept
            public List<Integer> getVersionArray() {
                return List.of(5, 0, 0);
            }

            public int getWireVersion() {
                return 13;
            }
        });
        MongoServer server = new MongoServer(backend);
        if (Arrays.asList(arguments).contains("oplog")) {
            server.enableOplog(); // it grows without bound
        }
        System.out.println(server.bind().getPort());
        while (System.in.read() >= 0) {
            // Nothing is ever sent: reading ends when the tests do, however they end.
        }
        server.shutdownNow();
        System.exit(0);
    }
}
