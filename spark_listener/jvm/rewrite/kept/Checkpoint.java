package headwater.rewrite.kept;

import headwater.rewrite.core.Capture;
import headwater.shim.Frames;
import headwater.shim.PlannedQuery;
import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataType;
import scala.Option;

/**
 * A frame that the program is about to checkpoint, and what to checkpoint in its place: a frame of the same plan, which runs with taps and
 * puts the reference of each row behind its columns. Spark's own `checkpoint` does the rest; the frame that it gives reads the columns that it
 * knows, and a captured query the reference too.
 */
public final class Checkpoint {
    private static final ThreadLocal UNDER_WAY = new ThreadLocal(); // the Checkpoint whose plan this thread optimises

    private final LogicalPlan written;
    private QueryPlanningTracker tracker; // of the planning with taps
    private LogicalPlan optimized; // without taps
    private Capture capture;
    private String reason; // why there is none
    private Dataset frame; // null: the program's own

    private Checkpoint(LogicalPlan written) {
        this.written = written;
    }

    /** Of a frame. Nothing has run when this returns. Never throws. */
    public static Checkpoint of(Dataset frame) {
        Checkpoint checkpoint = new Checkpoint(Frames.plan(frame));
        if (frame.isStreaming()) {
            checkpoint.reason = "streams are not captured yet";
        } else if (frame.queryExecution().tracker().phases().contains("optimization")) {
            // Its plan may have run: Spark goes on with the shuffles that are there, and with the time of day that it read then.
            checkpoint.reason = "the frame that was checkpointed had been planned before";
        } else if (checkpoint.written.containsPattern(TreePattern.CURRENT_LIKE())) {
            checkpoint.reason = "what was checkpointed tells the time, which the program's own frame goes on to tell";
        } else {
            try {
                checkpoint.plan(frame);
            } catch (Throwable fault) { // perhaps the program's own, which it will meet by itself
                checkpoint.reason = "what was checkpointed could not be planned with taps: " + fault;
            }
        }
        return checkpoint;
    }

    private void plan(Dataset frame) {
        SparkSession session = frame.sparkSession();
        QueryExecution tapped = session.sessionState().executePlan(written, QueryExecution.$lessinit$greater$default$4());
        tracker = tapped.tracker();
        UNDER_WAY.set(this);
        try {
            tapped.optimizedPlan();
        } finally {
            UNDER_WAY.remove();
        }
        if (capture != null) {
            this.frame = Frames.of(new Tapped(session, written, optimized, tapped), frame);
        }
    }

    /** The one whose plan this thread optimises; null: none. A rule of somebody else may have a plan of its own optimised meanwhile. */
    public static Checkpoint underWay(LogicalPlan plan) {
        Checkpoint checkpoint = (Checkpoint) UNDER_WAY.get();
        return checkpoint == null || !checkpoint.isPlanned() || !sameColumns(checkpoint.written, plan) ? null : checkpoint;
    }

    private boolean isPlanned() {
        Option now = QueryPlanningTracker.get();
        return now.isDefined() && now.get() == tracker;
    }

    /** By name and type: an alias that only repeats its column's name is optimised away, and the column has another number then. */
    private static boolean sameColumns(LogicalPlan written, LogicalPlan optimized) {
        List before = Scala.list(written.output());
        List after = Scala.list(optimized.output());
        boolean same = before.size() == after.size();
        for (int i = 0; same && i < before.size(); i++) {
            Attribute one = (Attribute) before.get(i);
            Attribute other = (Attribute) after.get(i);
            same = one.name().equals(other.name()) && DataType.equalsIgnoreNullability(one.dataType(), other.dataType());
        }
        return same;
    }

    public LogicalPlan written() {
        return written;
    }

    public void captured(Capture capture, LogicalPlan optimized) {
        this.capture = capture;
        this.optimized = optimized;
    }

    public void refused(String reason) {
        this.capture = null;
        this.reason = "what was checkpointed is not captured: " + reason;
    }

    /** What is to be checkpointed; null: the program's own frame. */
    public Dataset frame() {
        return frame;
    }

    /** The program got this frame. */
    public void made(Dataset result) {
        List leaves = Scala.list(Frames.plan(result).collectLeaves());
        if (leaves.size() == 1 && leaves.get(0) instanceof LogicalRDD) {
            Checkpoints.remember((LogicalRDD) leaves.get(0), capture, reason == null ? "it was checkpointed without capture" : reason);
        }
    }

    /** Runs the plan with taps, and tells the size and the constraints of the one without. */
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
