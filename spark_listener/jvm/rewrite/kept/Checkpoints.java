package headwater.rewrite.kept;

import headwater.rewrite.core.Capture;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;
import scala.reflect.ClassTag$;

/**
 * The captures of checkpointed frames in this JVM. A query that reads a checkpoint finds the origin of its rows here. A
 * capture is forgotten together with the rows. The capture must not keep the rows below the checkpoint alive, because
 * programs checkpoint in loops to release them.
 */
public final class Checkpoints {
    // an RDD -> its Capture, or the reason why there is none
    private static final Map<RDD<InternalRow>, Object> KNOWN = new WeakHashMap<>();

    private Checkpoints() {}

    public static void remember(LogicalRDD relation, Capture capture, String reason) {
        synchronized (KNOWN) {
            KNOWN.put(relation.rdd(), capture == null ? (Object) reason : capture);
        }
    }

    private static Object known(LogicalPlan leaf) {
        if (!(leaf instanceof LogicalRDD logicalRDD)) {
            return null;
        }
        synchronized (KNOWN) {
            return KNOWN.get(logicalRDD.rdd());
        }
    }

    /** Whether a leaf reads a checkpoint whose creation was observed. */
    public static boolean knows(LogicalPlan leaf) {
        return known(leaf) != null;
    }

    /** The capture of the rows that a leaf reads, or null. */
    public static Capture of(LogicalPlan leaf) {
        Object known = known(leaf);
        return known instanceof Capture capture ? capture : null;
    }

    /** Why the plan of what a leaf reads is not captured. */
    public static String reason(LogicalPlan leaf) {
        Object known = known(leaf);
        return known instanceof Capture ? "it has other columns than what was checkpointed" : String.valueOf(known);
    }

    /** Forgets those whose segments lie in a folder. */
    static void close(String segments) {
        synchronized (KNOWN) {
            Iterator<Object> all = KNOWN.values().iterator();
            while (all.hasNext()) {
                Object known = all.next();
                if (known instanceof Capture capture && capture.folder.startsWith(segments)) {
                    all.remove();
                }
            }
        }
    }

    /**
     * A plan that says the same, without the rows of the checkpoints that it reads. For looking at; never for running.
     * `renewed` has what each node became: a plan and its parts, asked one after the other, stay what they are to each
     * other.
     */
    public static LogicalPlan withoutRows(LogicalPlan node, IdentityHashMap<Object, Object> renewed) {
        LogicalPlan known = (LogicalPlan) renewed.get(node);
        if (known == null) {
            known = of(node) != null ? emptied((LogicalRDD) node, renewed) : parts(node, renewed);
            renewed.put(node, known);
        }
        return known;
    }

    private static LogicalPlan parts(LogicalPlan node, IdentityHashMap<Object, Object> renewed) {
        List<LogicalPlan> children = Scala.list(node.children());
        boolean changed = false;
        for (int i = 0; i < children.size(); i++) {
            LogicalPlan child = children.get(i);
            children.set(i, withoutRows(child, renewed));
            changed |= children.get(i) != child;
        }
        return changed ? node.withNewChildren(Scala.seq(children)) : node;
    }

    private static LogicalPlan emptied(LogicalRDD relation, IdentityHashMap<Object, Object> renewed) {
        RDD<InternalRow> empty = Untyped.value(renewed.get(relation.rdd())); // leaves of the same rows stay leaves of the same rows
        if (empty == null) {
            empty = relation.rdd().sparkContext().emptyRDD(ClassTag$.MODULE$.apply(InternalRow.class));
            renewed.put(relation.rdd(), empty);
        }
        LogicalRDD result = Nodes.rows(relation, Scala.list(relation.output()), empty);
        remember(result, of(relation), null);
        return result;
    }
}
