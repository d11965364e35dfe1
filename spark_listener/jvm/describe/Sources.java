package headwater.describe;

import headwater.rewrite.core.Capture;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** All sources of a description: those of the query's own plan first, then those of the plans whose cached rows it reads. */
final class Sources {
    private static final Object NONE = new Object();

    private final Map<Integer, Map<String, Object>> byNumber = new TreeMap<>();
    private final Map<Object, SourceList> lists = new IdentityHashMap<>(); // Capture, or NONE -> SourceList
    private int next;

    Sources(Capture query) {
        of(query);
    }

    /** The sources of a capture, in the same place whenever it is asked for; null: of plans that have none. */
    SourceList of(Capture capture) {
        Object key = capture == null ? NONE : capture;
        SourceList known = lists.get(key);
        if (known == null) {
            known = new SourceList(capture, this);
            lists.put(key, known);
        }
        return known;
    }

    List<Map<String, Object>> list() {
        return new ArrayList<>(byNumber.values());
    }

    /** The first of some numbers that nothing else has. */
    int reserve(int count) {
        next += count;
        return next - count;
    }

    boolean has(int number) {
        return byNumber.containsKey(number);
    }

    void put(int number, Map<String, Object> described) {
        described.put("source", number);
        byNumber.put(number, described);
    }
}
