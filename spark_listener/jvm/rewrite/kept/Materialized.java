package headwater.rewrite.kept;

import headwater.rewrite.core.Capture;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;

/** Leaves that read rows which the program had Spark make before: caches and checkpoints. */
public final class Materialized {
    private Materialized() {}

    /** Whether a leaf reads rows with a known plan. */
    public static boolean reads(LogicalPlan leaf) {
        return leaf instanceof InMemoryRelation || Checkpoints.of(leaf) != null;
    }

    /** The capture of the plan that made the rows, or null. */
    public static Capture of(LogicalPlan leaf) {
        return leaf instanceof InMemoryRelation inMemoryRelation ? Caches.of(inMemoryRelation) : Checkpoints.of(leaf);
    }

    /** The plan that made the rows, as written or from the capture. Null if it is not known. */
    public static LogicalPlan written(LogicalPlan leaf) {
        if (leaf instanceof InMemoryRelation inMemoryRelation) {
            return inMemoryRelation.cacheBuilder().logicalPlan();
        }
        Capture capture = Checkpoints.of(leaf);
        return capture == null ? null : capture.writtenIfKnown();
    }

    /** Names the rows that a leaf reads. Spark's own text would be that of the whole plan below. */
    public static void describe(LogicalPlan leaf, Map<String, Object> operator) {
        operator.put("op", name(leaf));
        operator.put("text", name(leaf) + " " + leaf.output().mkString("[", ", ", "]"));
    }

    /** The name of the leaf in a description. */
    public static String name(LogicalPlan leaf) {
        return leaf instanceof InMemoryRelation ? leaf.nodeName() : "Checkpoint";
    }

    /** The identity of a checkpoint. Null if the leaf is no captured checkpoint. */
    public static String checkpoint(LogicalPlan leaf) {
        Capture capture = Checkpoints.of(leaf);
        return capture == null ? null : "of the checkpoint " + capture.id;
    }
}
