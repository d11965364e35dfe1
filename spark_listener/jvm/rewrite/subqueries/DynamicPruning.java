package headwater.rewrite.subqueries;

import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * Dynamic partition pruning: a filter that asks the build side of a join above for its keys. Spark answers it from the join's own
 * broadcast if both plans are the same, so the subquery is rewritten as the join's side is; else pruning, or the broadcast, is lost.
 * A build side with taps is left as it is: running twice it would record twice. Then the pruning is lost, never the answer.
 */
public final class DynamicPruning {
    private DynamicPruning() {}

    public static Expression rewrite(Expression expression, Rewriter rewriter) {
        if (expression instanceof DynamicPruningSubquery) {
            DynamicPruningSubquery pruning = (DynamicPruningSubquery) expression;
            try {
                Rewritten build = rewriter.withoutTaps().rewrite(pruning.buildQuery());
                return Nodes.pruning(pruning, build.plan, pruning.buildKeys());
            } catch (Refused tapped) {
                return pruning;
            }
        }
        List children = Scala.list(expression.children());
        List renewed = new ArrayList();
        boolean changed = false;
        for (int i = 0; i < children.size(); i++) {
            Expression child = rewrite((Expression) children.get(i), rewriter);
            changed |= child != children.get(i);
            renewed.add(child);
        }
        return changed ? (Expression) expression.withNewChildren(Scala.seq(renewed)) : expression;
    }
}
