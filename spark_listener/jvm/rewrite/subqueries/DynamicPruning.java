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
 * Dynamic partition pruning: a filter that uses the keys of a join's build side. Spark reuses the join's own broadcast
 * if both plans are the same, so the subquery is rewritten like the join's side. Otherwise the pruning or the broadcast
 * would be lost. A build side with taps stays unchanged in the subquery, because a second run would record its rows
 * twice. The pruning is lost then, but never the result.
 */
public final class DynamicPruning {
    private DynamicPruning() {}

    public static Expression rewrite(Expression expression, Rewriter rewriter) {
        if (expression instanceof DynamicPruningSubquery pruning) {
            try {
                Rewritten build = rewriter.withoutTaps().rewrite(pruning.buildQuery());
                return Nodes.pruning(pruning, build.plan, pruning.buildKeys());
            } catch (Refused tapped) {
                return pruning;
            }
        }
        List<Expression> children = Scala.list(expression.children());
        List<Expression> renewed = new ArrayList<>();
        boolean changed = false;
        for (Expression each : children) {
            Expression child = rewrite(each, rewriter);
            changed |= child != each;
            renewed.add(child);
        }
        return changed ? expression.withNewChildren(Scala.seq(renewed)) : expression;
    }
}
