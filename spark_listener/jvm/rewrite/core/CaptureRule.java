package headwater.rewrite.core;

import headwater.rewrite.kept.CacheRewrite;
import headwater.rewrite.kept.Caches;
import headwater.rewrite.kept.TappedFrame;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.command.ExplainCommand;

/**
 * The optimizer rule of capture. The rule sees every optimized plan of a session, and rewrites writes of files and
 * plans that are cached, checkpointed or made an RDD. The rule runs in the batch "User Provided Optimizers", after
 * pushdown, extraction of Python functions and V1Writes. If anything fails, the plan stays as it was.
 */
public final class CaptureRule extends Rule<LogicalPlan> {
    static final TreeNodeTag<Boolean> SEEN = new TreeNodeTag<>("headwater.seen"); // the batch runs to a fixed point

    private final Captures captures;
    private final FamilyList families;
    private final TableCommands commands;

    public CaptureRule(Captures captures, FamilyList families) {
        this.captures = captures;
        this.families = families;
        this.commands = new TableCommands(captures, families);
    }

    public String ruleName() {
        return "headwater.rewrite.core.CaptureRule";
    }

    public LogicalPlan apply(LogicalPlan node) {
        try {
            return captures.open() ? planned(node) : node;
        } catch (Refused theirs) { // Spark cannot plan the program's own plan
            return node;
        } catch (Throwable fault) { // not from rewriting, which reports its own faults: no capture was begun, and the query's end reports that
            captures.fault(fault);
            return node;
        }
    }

    private LogicalPlan planned(LogicalPlan optimized) {
        LogicalPlan sized = Caches.sized(optimized); // first, so that what is refused or not followed has it too
        LogicalPlan result = captured(sized);
        if (result == sized && sized != optimized && !(sized instanceof Subquery)) { // else it was tried with the rewritten plan
            PlanTrial.run(optimized, sized);
        }
        return result;
    }

    private LogicalPlan captured(LogicalPlan plan) {
        if (!WriteRewrite.takes(plan)) {
            LogicalPlan own = commands.captured(plan);
            if (own != null) {
                return own;
            }
            return CacheRewrite.takes(plan) ? kept(plan) : plan;
        }
        if (plan.getTagValue(SEEN).isDefined()) {
            return plan;
        }
        String execution = captures.execution();
        if (execution == null || isExplained(execution)) {
            return plan; // it is only looked at
        }
        plan.setTagValue(SEEN, true);
        long began = System.nanoTime();
        Capture capture = new Capture(plan, captures, families);
        capture.execution = Long.parseLong(execution);
        LogicalPlan result = plan;
        try {
            LogicalPlan rewritten = WriteRewrite.rewrite(plan, capture);
            PlanCheck.check(WriteRewrite.command(plan), WriteRewrite.command(rewritten));
            PlanTrial.run(plan, rewritten);
            capture.register(captures.context());
            rewritten.setTagValue(SEEN, true);
            capture.rewritten = true;
            result = rewritten;
        } catch (Throwable reason) {
            captures.failed(capture, reason);
        }
        capture.planningNanos = System.nanoTime() - began;
        return captures.remember(execution, capture) ? result : plan;
    }

    /** Whether a query is one that explains the plan of another (EXPLAIN): it runs in an execution, too. */
    private static boolean isExplained(String execution) {
        QueryExecution query = SQLExecution.getQueryExecution(Long.parseLong(execution));
        return query != null && query.logical() instanceof ExplainCommand;
    }

    /**
     * Capture a plan that is cached, checkpointed or made an RDD. The plan gets a capture of its own, because its
     * readers are not known yet.
     */
    private LogicalPlan kept(LogicalPlan plan) {
        TappedFrame frame = TappedFrame.underWay(plan);
        Capture capture = new Capture(plan, captures, families, frame == null ? null : frame.written(), true);
        String reason;
        try {
            LogicalPlan rewritten = frame == null ? CacheRewrite.rewrite(plan, capture) : frame.rewrite(plan, capture);
            PlanCheck.complete(rewritten);
            PlanTrial.run(plan, rewritten);
            capture.release();
            capture.register(captures.context());
            capture.rewritten = true;
            if (frame != null) {
                frame.captured(capture, plan);
                return rewritten;
            }
            return Caches.remember(capture) ? rewritten : plan;
        } catch (Refused refused) {
            reason = refused.operator + ", " + refused.getMessage();
        } catch (Throwable fault) {
            reason = String.valueOf(fault);
            captures.fault(fault);
        }
        if (frame != null) {
            frame.refused(reason);
        } else {
            Caches.refuse(plan, reason);
        }
        return plan;
    }
}
