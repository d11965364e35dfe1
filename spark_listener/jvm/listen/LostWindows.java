package headwater.listen;

import headwater.rewrite.core.Capture;
import headwater.shim.Scala;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;

/**
 * Window functions of the query whose result nothing uses, so that the optimizer removes them. The rows of their frames
 * influence the row all the same (docs: semantics; influence does not depend on the requested columns). The capture
 * reports these records as missing from the influence. A witness does not need them, because the row contains none of
 * these results.
 */
final class LostWindows {
    private final Map<ExprId, String> functions = new LinkedHashMap<>(); // ExprId -> String name
    private boolean repeats; // what stands for a common table expression or a cache may have columns of its own

    private LostWindows(LogicalPlan plan) {
        visit(plan);
    }

    static void report(LogicalPlan query, LogicalPlan ran, Capture capture) {
        LostWindows written = new LostWindows(query);
        LostWindows kept = new LostWindows(ran);
        boolean fewer = !(written.repeats || kept.repeats) || kept.functions.size() < written.functions.size();
        Iterator<ExprId> all = written.functions.keySet().iterator();
        while (fewer && all.hasNext()) {
            Object function = all.next();
            if (!kept.functions.containsKey(function)) {
                String reason = "nothing uses this result, so that the optimizer took it out of the query; the rows of its frames are not listed";
                capture.problem("Window " + written.functions.get(function), reason, "influence");
            }
        }
    }

    private void visit(LogicalPlan plan) {
        repeats |= plan instanceof WithCTE || plan instanceof InMemoryRelation;
        if (plan instanceof InMemoryRelation inMemoryRelation) { // in the query as written there stands what is cached
            visit(inMemoryRelation.cacheBuilder().logicalPlan());
            return;
        }
        List<NamedExpression> made = plan instanceof Window window ? Scala.list(window.windowExpressions()) : Scala.list(Scala.empty());
        for (NamedExpression expression : made) {
            functions.put(expression.exprId(), expression.name());
        }
        List<LogicalPlan> below = Scala.list(plan.children());
        below.addAll(Scala.list(plan.subqueries()));
        for (LogicalPlan child : below) {
            visit(child);
        }
    }
}
