package headwater.rewrite.core;

import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A last look at a rewritten plan before Spark gets it: what is wrong here would fail the user's query later. */
final class PlanCheck {
    private PlanCheck() {}

    static void check(LogicalPlan original, LogicalPlan rewritten) {
        LogicalPlan before = original.children().apply(0);
        LogicalPlan after = rewritten.children().apply(0);
        if (!before.output().equals(after.output())) {
            throw new IllegalStateException("the output would change from " + before.output() + " to " + after.output());
        }
        complete(after);
    }

    static void complete(LogicalPlan node) {
        List<LogicalPlan> children = Scala.list(node.children());
        if (!children.isEmpty() && !node.missingInput().isEmpty()) { // a checkpoint may say an order by columns that it has not
            throw new IllegalStateException(node.nodeName() + " would lack the columns " + node.missingInput());
        }
        for (LogicalPlan child : children) {
            complete(child);
        }
    }
}
