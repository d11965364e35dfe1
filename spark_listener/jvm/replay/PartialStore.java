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
import java.util.Collections;
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
 * Partial results of one aggregate, on disk: `DIGEST/SAVE/` is a folder of Parquet with a column `f`, and `DIGEST/SAVE.json` maps each file of
 * the source, with its length and time, to its number in `f`. The JSON file is written last, so a save without it does not count.
 */
final class PartialStore {
    private static final int MOST_SAVES = 16; // a refresh adds one; what the oldest has is then computed again

    private final File folder;

    PartialStore(String root, String digest) {
        folder = new File(root, digest);
    }

    /** Of each save that has some of the files: its name -> the map of its numbers by file. A file is in the newest save that has it. */
    Map find(List identities) throws IOException {
        Map found = new LinkedHashMap();
        File[] listed = folder.listFiles();
        List saves = Arrays.asList(listed == null ? new File[0] : listed);
        Collections.sort(saves, new ByTime());
        TreeSet missing = new TreeSet(identities);
        int read = 0;
        for (Iterator each = saves.iterator(); each.hasNext();) {
            File save = (File) each.next();
            if (!save.getName().endsWith(".json") || ++read > MOST_SAVES) {
                continue;
            }
            JsonNode numbers = new ObjectMapper().readTree(save);
            Map here = new HashMap();
            for (Iterator names = numbers.fieldNames(); names.hasNext();) {
                String file = (String) names.next();
                if (missing.remove(file)) {
                    here.put(file, Integer.valueOf(numbers.get(file).intValue()));
                }
            }
            if (!here.isEmpty()) {
                found.put(save.getName().substring(0, save.getName().length() - 5), here);
            }
        }
        return found;
    }

    /** Computes and keeps rows; `numbers` are those in their column `f` by file. Returns the name of the save. */
    String save(SparkSession session, LogicalPlan rows, Map numbers) throws IOException {
        String name = UUID.randomUUID().toString();
        folder.mkdirs();
        Frames.of(session, rows).write().parquet(path(name));
        ObjectNode listed = new ObjectMapper().createObjectNode();
        for (Iterator each = numbers.entrySet().iterator(); each.hasNext();) {
            Map.Entry entry = (Map.Entry) each.next();
            listed.put((String) entry.getKey(), ((Integer) entry.getValue()).intValue());
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

    private static final class ByTime implements Comparator {
        public int compare(Object left, Object right) { // the newest first
            int newer = Long.compare(((File) right).lastModified(), ((File) left).lastModified());
            return newer != 0 ? newer : ((File) left).compareTo((File) right);
        }
    }
}
