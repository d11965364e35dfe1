package headwater.source;

import headwater.shim.Parts;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A relation of the program's own rows, as a source of the manifest: its records are named, its values are not kept. */
public final class MemoryRelation {
    public final Object key;
    public final int number;
    private final String path;
    private volatile int partitions; // 0: its rows are numbered through

    public MemoryRelation(Object key, int number, String path, int partitions) {
        this.key = key;
        this.number = number;
        this.path = path;
        this.partitions = partitions;
    }

    /** The number of partitions, for sources that know it only when the query runs. */
    public void partitions(int number) {
        partitions = Math.max(partitions, number);
    }

    public Map<String, Object> describe() {
        Map<String, Object> result = Parts.of("path", path, "format", "local");
        List<Map<String, Object>> files = new ArrayList<>();
        for (int i = 0; i < Math.max(1, partitions); i++) {
            Map<String, Object> file = Parts.of(
                "ordinal", i, "ordinals", 1, "path", partitions == 0 ? path : path + "/" + i, "length", 0L,
                "modified", 0L);
            files.add(file);
        }
        result.put("files", files);
        result.put("splits", new ArrayList<>());
        return result;
    }
}
