package headwater.rewrite.core;

import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReturnAnswer;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.adaptive.InvalidAQEPlanException;
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage;
import scala.collection.immutable.Seq;
import scala.util.Failure;

/**
 * The planner's strategy for a rewritten plan that adaptive execution plans again while it runs. If that fails,
 * adaptive execution continues with its present physical plan. PlanTrial has tried the plan as a whole before it ran.
 */
public final class AdaptiveGuard extends SparkStrategy {
    private static final ThreadLocal<Boolean> UNDER_WAY = new ThreadLocal<>(); // TRUE while this thread plans for a guard

    private final Captures captures;

    public AdaptiveGuard(Captures captures) {
        this.captures = captures;
    }

    public Seq<SparkPlan> apply(LogicalPlan plan) {
        boolean guards = false;
        try {
            guards = plan instanceof ReturnAnswer && UNDER_WAY.get() == null && isOurs(plan);
            return guards ? planned(plan) : Scala.empty();
        } catch (Throwable fault) {
            if (!guards) { // Spark's own strategies plan it
                return Scala.empty();
            }
            if (!(fault instanceof InvalidAQEPlanException<?>)) { // else Spark's own answer
                captures.fault(fault);
            }
            return new Failure<Seq<SparkPlan>>(new InvalidAQEPlanException<>("Headwater's plan cannot be planned anew: " + fault, plan)).get(); // throws it
        }
    }

    private static Seq<SparkPlan> planned(LogicalPlan plan) {
        UNDER_WAY.set(true);
        try {
            SparkSession session = SparkSession.active();
            return Scala.seq(session.sessionState().planner().plan(plan).next());
        } finally {
            UNDER_WAY.remove();
        }
    }

    /** Whether this is a rewritten plan, a part of which has run. */
    private static boolean isOurs(LogicalPlan plan) {
        return holds(plan, true) && holds(plan, false);
    }

    /** Whether a plan holds a stage, or else a node of ours. */
    private static boolean holds(LogicalPlan node, boolean stage) {
        if (stage ? node instanceof LogicalQueryStage : node instanceof HiddenProject) {
            return true;
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            if (holds(child, stage)) {
                return true;
            }
        }
        return false;
    }
}
