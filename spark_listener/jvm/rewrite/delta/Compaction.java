package headwater.rewrite.delta;

import headwater.shim.Scala;
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
 * OPTIMIZE: several queries, each of which rewrites some files of the table, in threads that are in no transaction. What came of them is read from
 * the table's log: in a commit the files that a query added stand before those that it read, which are removed. By these each part is known.
 */
public final class Compaction extends TableCommit {
    private static final String READ = "TahoeBatchFileIndex";
    private static final int PARTITIONS = 1 << 16; // of a part, at most
    private static final int MOST_COMMITS = 1000; // that others may have made meanwhile

    private final Object index; // of the files that its first query reads
    private final List parts = new ArrayList(); // of Set: the paths of the files that each reads, as the log has them
    private boolean looked;
    private Map files;
    private Object version;

    private Compaction(Object index) {
        this.index = index;
        Set paths = new HashSet();
        List read = Scala.list((Iterable) get(index, "addFiles"));
        for (int i = 0; i < read.size(); i++) {
            paths.add(String.valueOf(get(read.get(i), "path")));
        }
        parts.add(paths);
    }

    /** By the plan of a query of it; null where that is not as it is known. */
    static Compaction of(LogicalPlan plan) {
        List leaves = Scala.list(plan.collectLeaves());
        LogicalPlan leaf = leaves.size() == 1 ? (LogicalPlan) leaves.get(0) : null;
        if (!(leaf instanceof LogicalRelation) || !(((LogicalRelation) leaf).relation() instanceof HadoopFsRelation)) {
            return null;
        }
        Object index = ((HadoopFsRelation) ((LogicalRelation) leaf).relation()).location();
        return index.getClass().getSimpleName().equals(READ) && get(index, "addFiles") instanceof Iterable ? new Compaction(index) : null;
    }

    /** Another query of the same compaction; gives its number. */
    public synchronized int join(Compaction other) {
        parts.addAll(other.parts);
        return parts.size() - 1;
    }

    /** The number of the first partition of a part: those of all parts are told apart by their numbers. */
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

    public synchronized Map files() {
        look();
        return files;
    }

    private void look() {
        if (looked) {
            return;
        }
        looked = true;
        Map numbers = new HashMap(); // paths that a part reads -> its number
        for (int i = 0; i < parts.size(); i++) {
            numbers.put(parts.get(i), Integer.valueOf(i));
        }
        Map found = new HashMap();
        Iterator commits = commits();
        for (int i = 0; commits != null && commits.hasNext() && !numbers.isEmpty() && i < MOST_COMMITS; i++) {
            Tuple2 commit = (Tuple2) commits.next();
            if (!look(Scala.list((Iterable) commit._2()), commit._1(), numbers, found)) {
                return;
            }
        }
        files = numbers.isEmpty() ? found : null;
    }

    /** Takes the parts that a commit has. False: a file of one does not tell enough. */
    private boolean look(List actions, Object number, Map parts, Map found) {
        List added = new ArrayList();
        Set removed = new HashSet();
        for (int i = 0; i <= actions.size(); i++) {
            Object action = i < actions.size() ? actions.get(i) : null;
            boolean adds = action != null && is(action, "AddFile");
            boolean removes = action != null && is(action, "RemoveFile");
            if (!removed.isEmpty() && !removes) { // a part is complete
                Object part = parts.remove(removed);
                if (part != null) {
                    version = number;
                    int first = firstPartition(((Integer) part).intValue());
                    if (!add(found, added.iterator(), first, PARTITIONS)) {
                        return false;
                    }
                }
                added = new ArrayList();
                removed = new HashSet();
            }
            if (adds) {
                added.add(action);
            } else if (removes) {
                removed.add(String.valueOf(get(action, "path")));
            }
        }
        return true;
    }

    /** What was committed since its files were listed: pairs of a version and its actions; null where this version of Delta does not tell. */
    private Iterator commits() {
        Object log = log();
        Object listed = get(index, "version");
        if (log == null || !(listed instanceof Long)) {
            return null;
        }
        Long first = Long.valueOf(((Long) listed).longValue() + 1L);
        try {
            Method[] methods = log.getClass().getMethods();
            for (int i = 0; i < methods.length; i++) {
                Class[] types = methods[i].getParameterTypes();
                if (methods[i].getName().equals("getChanges") && types.length == 3 && types[0] == long.class && types[2] == boolean.class) {
                    return (Iterator) methods[i].invoke(log, new Object[] {first, Scala.none(), Boolean.FALSE});
                }
            }
        } catch (Throwable unreadable) {
            return null;
        }
        return null;
    }
}
