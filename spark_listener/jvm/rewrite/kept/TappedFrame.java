package headwater.rewrite.kept;

import headwater.rewrite.core.Capture;
import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.DataType;
import scala.Option;

/**
 * A frame whose rows leave Spark SQL, and the same plan with taps, which runs in its place. A subclass adds the
 * reference of each row.
 */
public abstract class TappedFrame {
    private static final ThreadLocal<TappedFrame> UNDER_WAY = new ThreadLocal<>(); // the TappedFrame whose plan this thread optimises

    protected final LogicalPlan written;
    protected LogicalPlan optimized; // without taps
    protected Capture capture;
    protected String reason; // the reason, if there is no capture
    private QueryPlanningTracker tracker; // of the planning with taps

    protected TappedFrame(LogicalPlan written) {
        this.written = written;
    }

    /** The plan with taps, of a plan whose rows are to leave Spark SQL. */
    public abstract LogicalPlan rewrite(LogicalPlan plan, Capture capture);

    /** The verb in messages for the use of the frame: "checkpointed". */
    protected abstract String done();

    /** Plans the frame with taps. Nothing has run when this returns; null where records are not captured, for a `reason`. Never throws. */
    protected final QueryExecution planned(Dataset<?> frame) {
        if (frame.isStreaming()) {
            reason = "streams are not captured yet";
        } else if (frame.queryExecution().tracker().phases().contains("optimization")) {
            // Its plan may have run: Spark goes on with the shuffles that are there, and with the time of day that it read then.
            reason = "the frame that was " + done() + " had been planned before";
        } else if (written.containsPattern(TreePattern.CURRENT_LIKE())) {
            reason = "what was " + done() + " tells the time, which the program's own frame goes on to tell";
        } else {
            try {
                QueryExecution tapped = planned(frame.sparkSession());
                return capture == null ? null : tapped;
            } catch (Throwable fault) { // perhaps the program's own, which it will meet by itself
                capture = null;
                reason = "what was " + done() + " could not be planned with taps: " + fault;
            }
        }
        return null;
    }

    private QueryExecution planned(SparkSession session) {
        QueryExecution tapped = session.sessionState().executePlan(written, QueryExecution.$lessinit$greater$default$4());
        tracker = tapped.tracker();
        UNDER_WAY.set(this);
        try {
            tapped.optimizedPlan();
        } finally {
            UNDER_WAY.remove();
        }
        return tapped;
    }

    /** The one whose plan this thread optimises; null: none. A rule of somebody else may have a plan of its own optimised meanwhile. */
    public static TappedFrame underWay(LogicalPlan plan) {
        TappedFrame frame = UNDER_WAY.get();
        return frame == null || !frame.isPlanned() || !sameColumns(frame.written, plan) ? null : frame;
    }

    private boolean isPlanned() {
        Option<QueryPlanningTracker> now = QueryPlanningTracker.get();
        return now.isDefined() && now.get() == tracker;
    }

    /** By name and type: an alias that only repeats its column's name is optimised away, and the column has another number then. */
    private static boolean sameColumns(LogicalPlan written, LogicalPlan optimized) {
        List<Attribute> before = Scala.list(written.output());
        List<Attribute> after = Scala.list(optimized.output());
        boolean same = before.size() == after.size();
        for (int i = 0; same && i < before.size(); i++) {
            Attribute one = before.get(i);
            Attribute other = after.get(i);
            same = one.name().equals(other.name()) && DataType.equalsIgnoreNullability(one.dataType(), other.dataType());
        }
        return same;
    }

    public final LogicalPlan written() {
        return written;
    }

    public final void captured(Capture capture, LogicalPlan optimized) {
        this.capture = capture;
        this.optimized = optimized;
    }

    public final void refused(String reason) {
        this.capture = null;
        this.reason = "what was " + done() + " is not captured: " + reason;
    }

    /** The capture of the plan, or null. */
    public final Capture capture() {
        return capture;
    }

    /** Why there is no capture. */
    public final String reason() {
        return reason;
    }
}
