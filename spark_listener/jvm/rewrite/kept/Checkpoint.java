package headwater.rewrite.kept;

import headwater.rewrite.core.Capture;
import headwater.shim.Frames;
import headwater.shim.PlannedQuery;
import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;

/**
 * A frame that the program checkpoints, and the frame that is checkpointed in its place. The latter has the same plan
 * with taps, and the reference of each row as the last column. Spark's own `checkpoint` does the rest. The resulting
 * frame reads its own columns, and a captured query also reads the reference.
 */
public final class Checkpoint extends TappedFrame {
    private Dataset<?> frame; // null: the program's own

    private Checkpoint(LogicalPlan written) {
        super(written);
    }

    /** The replacement of a frame. Nothing has run when this returns. Never throws. */
    public static Checkpoint of(Dataset<?> frame) {
        Checkpoint checkpoint = new Checkpoint(Frames.plan(frame));
        QueryExecution tapped = checkpoint.planned(frame);
        if (tapped != null) {
            checkpoint.frame = Frames.of(new Tapped(frame.sparkSession(), checkpoint.written, checkpoint.optimized, tapped), frame);
        }
        return checkpoint;
    }

    public LogicalPlan rewrite(LogicalPlan plan, Capture capture) {
        return CacheRewrite.rewrite(plan, capture);
    }

    protected String done() {
        return "checkpointed";
    }

    /** The frame to checkpoint. Null for the program's own frame. */
    public Dataset<?> frame() {
        return frame;
    }

    /** The program got this frame. */
    public void made(Dataset<?> result) {
        List<LogicalPlan> leaves = Scala.list(Frames.plan(result).collectLeaves());
        if (leaves.size() == 1 && leaves.get(0) instanceof LogicalRDD logicalRDD) {
            Checkpoints.remember(logicalRDD, capture, reason == null ? "it was checkpointed without capture" : reason);
        }
    }

    /** Runs the plan with taps, and reports the size and constraints of the plan without taps. */
    private static final class Tapped extends PlannedQuery {
        private final transient LogicalPlan optimized;
        private final transient QueryExecution tapped;

        Tapped(SparkSession session, LogicalPlan plan, LogicalPlan optimized, QueryExecution tapped) {
            super(session, plan);
            this.optimized = optimized;
            this.tapped = tapped;
        }

        public LogicalPlan optimizedPlan() {
            return optimized;
        }

        public SparkPlan executedPlan() {
            return tapped.executedPlan();
        }
    }
}
