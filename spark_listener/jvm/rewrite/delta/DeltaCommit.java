package headwater.rewrite.delta;

import headwater.shim.Scala;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import scala.Option;
import scala.collection.Iterable;

/** The transaction of Delta that the program's thread is in. */
public final class DeltaCommit extends TableCommit {
    private static final String TRANSACTION = "org.apache.spark.sql.delta.OptimisticTransaction";

    private static volatile ClassLoader asked; // whose answer is known
    private static volatile Class<?> type; // null: Delta is not there

    private final Object transaction;

    private DeltaCommit(Object transaction) {
        this.transaction = transaction;
    }

    /** Whether the program has Delta. Whoever has not pays for no look at the stack. */
    static boolean isThere() {
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        if (loader != asked) {
            try {
                type = Class.forName(TRANSACTION, false, loader);
            } catch (Throwable absent) {
                type = null;
            }
            asked = loader;
        }
        return type != null;
    }

    /** The transaction that this thread is in; null if it is in none. */
    static DeltaCommit active() {
        try {
            Option<?> found = (Option<?>) type.getMethod("getActive").invoke(null);
            return found.isDefined() ? new DeltaCommit(found.get()) : null;
        } catch (Throwable unknown) { // another version of Delta
            return null;
        }
    }

    public Object catalogTable() {
        Object table = get(transaction, "catalogTable");
        return table instanceof Option<?> option ? Scala.orNull(option) : null;
    }

    Object metadata() {
        return get(transaction, "metadata");
    }

    Object log() {
        return get(transaction, "deltaLog");
    }

    public Object version() {
        return get(committed(), "committedVersion");
    }

    public Map<Integer, List<Map<String, Object>>> files() {
        Object actions = get(committed(), "committedActions");
        Map<Integer, List<Map<String, Object>>> result = new HashMap<>();
        return actions instanceof Iterable<?> iterable && add(result, Scala.<Object>list(iterable).iterator(), 0, Integer.MAX_VALUE) ? result : null;
    }

    private Object committed() {
        Object found = get(transaction, "getCommitted");
        return found instanceof Option<?> option ? Scala.orNull(option) : null;
    }
}
