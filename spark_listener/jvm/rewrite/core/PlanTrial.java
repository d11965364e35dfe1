package headwater.rewrite.core;

import headwater.shim.Differences;
import headwater.shim.OwnExpression;
import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.optimizer.ReplaceCTERefWithRepartition;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.adaptive.AdaptiveExecutionContext;

/**
 * Plans a rewritten plan as Spark is about to. A fault found here would fail the program's query, so the query then
 * runs with its own plan. A trial plans and prepares the plan, copies our nodes, and has our expressions generate their
 * code. No job runs.
 */
final class PlanTrial {
    private static final String OURS = "headwater.";

    private PlanTrial() {}

    /** Throws what Spark would throw for the rewritten plan. Refuses the query if Spark cannot plan the program's own plan either. */
    static void run(LogicalPlan own, LogicalPlan rewritten) {
        SparkSession session = SparkSession.active();
        try {
            plan(rewritten, session);
            generate(rewritten);
        } catch (Throwable fault) {
            if (!isPlanned(own, session)) {
                throw new Refused(own.nodeName(), "Spark cannot plan the query");
            }
            throw new IllegalStateException("Spark cannot run the plan that capture made, so the program's own plan ran: " + fault, fault);
        }
    }

    private static boolean isPlanned(LogicalPlan own, SparkSession session) {
        try {
            plan(own, session);
            return true;
        } catch (Throwable fault) {
            return false;
        }
    }

    private static void plan(LogicalPlan plan, SparkSession session) {
        // The optimizer replaces common table expressions next.
        LogicalPlan next = plan instanceof WithCTE ? ReplaceCTERefWithRepartition.apply(plan) : plan;
        QueryExecution query = session.sessionState().executePlan(plan, QueryExecution.$lessinit$greater$default$4());
        Differences.prepare(next, new AdaptiveExecutionContext(session, query));
    }

    private static void generate(LogicalPlan node) {
        if (node.getClass().getName().startsWith(OURS)) {
            node.withNewChildrenInternal(node.children().toIndexedSeq()); // as adaptive execution does while the query runs
        }
        for (Expression expression : Scala.list(node.expressions())) {
            generate(expression, node);
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            generate(child);
        }
    }

    private static void generate(Expression expression, LogicalPlan node) {
        if (expression instanceof OwnExpression) {
            BindReferences.bindReference(expression, node.allAttributes(), true).genCode(new CodegenContext());
            return;
        }
        for (Expression child : Scala.list(expression.children())) {
            generate(child, node);
        }
    }
}
