package headwater.rewrite.kept;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.nodes.HiddenCache;
import headwater.shim.Scala;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;

/**
 * The captures of cached plans in this JVM. A query that reads a cache finds the origin of its rows here. The cached
 * rows have a hidden column with references, and its name identifies the capture. A capture is forgotten together with
 * its cached plan.
 */
public final class Caches {
    private static final String COLUMN = "cached_";
    private static final int MOST = 1000; // plans, and as many refusals
    private static final Map<String, WeakReference<Capture>> KNOWN = new ConcurrentHashMap<>(); // String name of a hidden column -> WeakReference of a Capture
    private static final Map<List<Long>, String> REFUSED = new ConcurrentHashMap<>(); // List of expression ids that a cached plan puts out -> String reason

    private Caches() {}

    /** The name of the hidden column of a cached plan. */
    static String column(Capture capture) {
        return COLUMN + capture.id;
    }

    /** False if there are too many. The plan must be cached unchanged then. */
    public static boolean remember(Capture capture) {
        if (KNOWN.size() >= MOST) {
            forget(null);
        }
        if (KNOWN.size() >= MOST) {
            return false;
        }
        KNOWN.put(HiddenColumn.PREFIX + column(capture), new WeakReference<>(capture));
        return true;
    }

    public static void refuse(QueryPlan<?> plan, String reason) {
        if (REFUSED.size() < MOST) {
            REFUSED.put(ids(plan), reason);
        }
    }

    /** Why the plan below a cache is not captured. */
    public static String reason(InMemoryRelation relation) {
        Object reason = REFUSED.get(ids(relation.cacheBuilder().cachedPlan()));
        return reason == null ? "it was cached without capture" : "what was cached is not captured: " + reason;
    }

    /** The capture of the rows that a relation reads, or null. */
    public static Capture of(InMemoryRelation relation) {
        WeakReference<Capture> known = KNOWN.get(last(relation));
        return known == null ? null : known.get();
    }

    /** The name of the last column that is cached. */
    private static String last(InMemoryRelation relation) {
        List<Attribute> columns = Scala.list(relation.cacheBuilder().cachedPlan().output());
        return columns.isEmpty() ? "" : columns.get(columns.size() - 1).name();
    }

    /** The plan with caches whose size is said without their hidden columns: also of a query that nobody captures. */
    public static LogicalPlan sized(LogicalPlan plan) {
        return KNOWN.isEmpty() ? plan : resized(plan);
    }

    private static LogicalPlan resized(LogicalPlan node) {
        if (node instanceof InMemoryRelation relation) {
            boolean hides = !(relation instanceof HiddenCache) && last(relation).startsWith(HiddenColumn.PREFIX + COLUMN);
            return hides ? HiddenCache.of(relation, relation.output()) : node;
        }
        List<LogicalPlan> children = Scala.list(node.children());
        boolean changed = false;
        for (int i = 0; i < children.size(); i++) {
            LogicalPlan child = children.get(i);
            LogicalPlan renewed = resized(child);
            changed |= renewed != child;
            children.set(i, renewed);
        }
        return changed ? node.withNewChildren(Scala.seq(children)) : node;
    }

    /** Forgets what was cached by the application whose segments lie there. */
    public static void close(String segments) {
        String folder = segments.endsWith("/") ? segments : segments + "/";
        forget(folder);
        Checkpoints.close(folder);
    }

    /** Forget the captures whose plans are gone, and the captures with segments in a folder (null: none). */
    private static void forget(String segments) {
        Iterator<WeakReference<Capture>> captures = KNOWN.values().iterator();
        while (captures.hasNext()) {
            Capture capture = captures.next().get();
            if (capture == null || (segments != null && capture.folder.startsWith(segments))) {
                captures.remove();
            }
        }
    }

    private static List<Long> ids(QueryPlan<?> plan) {
        List<Long> result = new ArrayList<>();
        for (Attribute column : Scala.list(plan.output())) {
            result.add(column.exprId().id());
        }
        return result;
    }
}
