package headwater.rewrite.delta;

import headwater.rewrite.core.Capture;
import headwater.rewrite.kept.CacheRewrite;
import headwater.rewrite.kept.Checkpoints;
import headwater.rewrite.nodes.UnshownProject;
import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.execution.LogicalRDD;

/**
 * The source of a MERGE that Delta checkpoints first, because it might not give the same rows twice. Each row is
 * recorded when it is checkpointed, and its reference becomes one more column. Delta's name for the rows identifies the
 * scan that MERGE runs later.
 */
public final class MergeSource {
    private static final String DELTA = "org.apache.spark.sql.delta.";
    private static final String MATERIALIZED = "mergeMaterializedSource";

    private MergeSource() {}

    /** Whether this thread optimises the source of a MERGE, to checkpoint it. */
    public static boolean isUnderWay(LogicalPlan plan) {
        if (plan instanceof Subquery || !DeltaCommit.isThere()) {
            return false;
        }
        StackTraceElement[] calls = new Throwable().getStackTrace();
        boolean checkpoints = false;
        for (StackTraceElement call : calls) {
            String type = call.getClassName();
            checkpoints |= type.startsWith("org.apache.spark.sql.") && call.getMethodName().indexOf("heckpoint") >= 0;
            if (type.startsWith(DELTA)) { // the innermost of them
                return checkpoints && type.indexOf("MaterializeSource") >= 0;
            }
        }
        return false;
    }

    public static LogicalPlan rewrite(LogicalPlan plan, Capture capture) {
        Project rewritten = (Project) CacheRewrite.rewrite(plan, capture);
        return new UnshownProject(rewritten.projectList(), rewritten.child(), plan);
    }

    /** Makes the checkpointed rows that a plan reads known as those of a capture, or as those that have none, for a reason. */
    public static void find(LogicalPlan plan, Capture made, String reason) {
        for (LogicalPlan leaf : Scala.list(plan.collectLeaves())) {
            if (leaf instanceof LogicalRDD logicalRDD && MATERIALIZED.equals(logicalRDD.rdd().name())) {
                Checkpoints.remember(logicalRDD, made, reason);
            }
        }
    }
}
