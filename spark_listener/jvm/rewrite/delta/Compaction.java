package headwater.rewrite.delta;

import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Tuple2;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * OPTIMIZE: several queries outside of any transaction, each of which rewrites some files of the table. The result is
 * read from the table's log. In a commit, the files that a query added come before the removed files that it read, and
 * these identify each part.
 */
public final class Compaction extends TableCommit {
    private static final String READ = "TahoeBatchFileIndex";
    private static final int PARTITIONS = 1 << 16; // of a part, at most
    private static final int MOST_COMMITS = 1000; // that others may have made meanwhile

    private final Object index; // of the files that its first query reads
    private final List<Set<String>> parts = new ArrayList<>(); // the paths of the files that each reads, as the log has them
    private boolean looked;
    private Map<Integer, List<Map<String, Object>>> files;
    private Object version;

    private Compaction(Object index) {
        this.index = index;
        Set<String> paths = new HashSet<>();
        List<Object> read = Scala.list((Iterable<?>) get(index, "addFiles"));
        for (Object file : read) {
            paths.add(String.valueOf(get(file, "path")));
        }
        parts.add(paths);
    }

    /** The compaction that runs this plan. Null if the plan has an unknown form. */
    static Compaction of(LogicalPlan plan) {
        List<LogicalPlan> leaves = Scala.list(plan.collectLeaves());
        LogicalPlan leaf = leaves.size() == 1 ? leaves.get(0) : null;
        if (!(leaf instanceof LogicalRelation relation) || !(relation.relation() instanceof HadoopFsRelation files)) {
            return null;
        }
        Object index = files.location();
        return index.getClass().getSimpleName().equals(READ) && get(index, "addFiles") instanceof Iterable<?> ? new Compaction(index) : null;
    }

    /** Another query of the same compaction; gives its number. */
    public synchronized int join(Compaction other) {
        parts.addAll(other.parts);
        return parts.size() - 1;
    }

    /** The number of the first partition of a part, so that partitions of different parts have different numbers. */
    static int firstPartition(int part) {
        return part * PARTITIONS;
    }

    Object metadata() {
        return get(index, "metadata");
    }

    Object log() {
        return get(index, "deltaLog");
    }

    public Object catalogTable() {
        return null; // the command knows it
    }

    public synchronized Object version() {
        look();
        return version;
    }

    public synchronized Map<Integer, List<Map<String, Object>>> files() {
        look();
        return files;
    }

    private void look() {
        if (looked) {
            return;
        }
        looked = true;
        Map<Set<String>, Integer> numbers = new HashMap<>(); // paths that a part reads -> its number
        for (int i = 0; i < parts.size(); i++) {
            numbers.put(parts.get(i), i);
        }
        Map<Integer, List<Map<String, Object>>> found = new HashMap<>();
        Iterator<Tuple2<?, Iterable<?>>> commits = commits();
        for (int i = 0; commits != null && commits.hasNext() && !numbers.isEmpty() && i < MOST_COMMITS; i++) {
            Tuple2<?, Iterable<?>> commit = commits.next();
            if (!look(Scala.list((Iterable<?>) commit._2()), commit._1(), numbers, found)) {
                return;
            }
        }
        files = numbers.isEmpty() ? found : null;
    }

    /** Take the parts of a commit. False if a file has too few details. */
    private boolean look(List<Object> actions, Object number, Map<Set<String>, Integer> parts, Map<Integer, List<Map<String, Object>>> found) {
        List<Object> added = new ArrayList<>();
        Set<String> removed = new HashSet<>();
        for (int i = 0; i <= actions.size(); i++) {
            Object action = i < actions.size() ? actions.get(i) : null;
            boolean adds = action != null && is(action, "AddFile");
            boolean removes = action != null && is(action, "RemoveFile");
            if (!removed.isEmpty() && !removes) { // a part is complete
                Object part = parts.remove(removed);
                if (part != null) {
                    version = number;
                    int first = firstPartition(((Integer) part));
                    if (!add(found, added.iterator(), first, PARTITIONS)) {
                        return false;
                    }
                }
                added = new ArrayList<>();
                removed = new HashSet<>();
            }
            if (adds) {
                added.add(action);
            } else if (removes) {
                removed.add(String.valueOf(get(action, "path")));
            }
        }
        return true;
    }

    /**
     * The commits since the files were listed, as pairs of a version and its actions. Null if this version of Delta
     * does not give them.
     */
    private Iterator<Tuple2<?, Iterable<?>>> commits() {
        Object log = log();
        Object listed = get(index, "version");
        if (log == null || !(listed instanceof Long number)) {
            return null;
        }
        Long first = number + 1L;
        try {
            Method[] methods = log.getClass().getMethods();
            for (Method method : methods) {
                Class<?>[] types = method.getParameterTypes();
                if (method.getName().equals("getChanges") && types.length == 3 && types[0] == long.class && types[2] == boolean.class) {
                    return Untyped.value(method.invoke(log, first, Scala.none(), false));
                }
            }
        } catch (Throwable unreadable) {
            return null;
        }
        return null;
    }
}
