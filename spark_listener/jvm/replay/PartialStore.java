package headwater.replay;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import headwater.shim.Frames;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructType;

/**
 * Partial results of one aggregate, on disk: `DIGEST/SAVE/` is a folder of Parquet with a column `f`, and
 * `DIGEST/SAVE.json` maps each file of the source, with its length and time, to its number in `f`. The JSON file is
 * written last, so a save without it does not count.
 */
final class PartialStore {
    private static final int MOST_SAVES = 16; // a refresh adds one; what the oldest has is then computed again

    private final File folder;

    PartialStore(String root, String digest) {
        folder = new File(root, digest);
    }

    /** The saves that contain some of the files: name -> its numbers by file. A file is taken from the newest save that contains it. */
    Map<String, Map<String, Integer>> find(List<String> identities) throws IOException {
        Map<String, Map<String, Integer>> found = new LinkedHashMap<>();
        File[] listed = folder.listFiles();
        List<File> saves = Arrays.asList(listed == null ? new File[0] : listed);
        saves.sort(Comparator.comparingLong(File::lastModified).reversed().thenComparing(Comparator.naturalOrder())); // the newest first
        TreeSet<String> missing = new TreeSet<>(identities);
        int read = 0;
        for (File save : saves) {
            if (!save.getName().endsWith(".json") || ++read > MOST_SAVES) {
                continue;
            }
            JsonNode numbers = new ObjectMapper().readTree(save);
            Map<String, Integer> here = new HashMap<>();
            for (Iterator<String> names = numbers.fieldNames(); names.hasNext();) {
                String file = names.next();
                if (missing.remove(file)) {
                    here.put(file, numbers.get(file).intValue());
                }
            }
            if (!here.isEmpty()) {
                found.put(save.getName().substring(0, save.getName().length() - 5), here);
            }
        }
        return found;
    }

    /** Computes and keeps rows; `numbers` are those in their column `f` by file. Returns the name of the save. */
    String save(SparkSession session, LogicalPlan rows, Map<String, Integer> numbers) throws IOException {
        String name = UUID.randomUUID().toString();
        folder.mkdirs();
        Frames.of(session, rows).write().parquet(path(name));
        ObjectNode listed = new ObjectMapper().createObjectNode();
        for (Map.Entry<String, Integer> entry : numbers.entrySet()) {
            listed.put(entry.getKey(), entry.getValue().intValue());
        }
        File draft = new File(folder, name + ".tmp");
        new ObjectMapper().writeValue(draft, listed);
        Files.move(draft.toPath(), new File(folder, name + ".json").toPath(), StandardCopyOption.ATOMIC_MOVE);
        return name;
    }

    LogicalPlan read(SparkSession session, String name, StructType schema) {
        return Frames.plan(session.read().schema(schema).parquet(path(name)));
    }

    private String path(String name) {
        return "file:" + new File(folder, name).getAbsolutePath();
    }
}
