package headwater.rewrite.core;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The order in which operators below an operator are numbered, for the rewriter and the description: first each scalar
 * subquery of its expressions with the plan below it, then the children.
 */
public final class Inputs {
    private Inputs() {}

    /**
     * The scalar subqueries in a node's expressions, each once. Subqueries that only prune (dynamic partition pruning,
     * Bloom filters) are left out: the join above removes the same rows anyway, so they are not lineage.
     */
    public static List<Expression> subqueries(LogicalPlan node) {
        Map<Object, Expression> found = new LinkedHashMap<>();
        for (Expression expression : Scala.list(node.expressions())) {
            collect(expression, found);
        }
        return new ArrayList<>(found.values());
    }

    /** The count of numbers for a node and all operators below it. */
    public static int size(LogicalPlan node) {
        int result = 1;
        for (Expression subquery : subqueries(node)) {
            result += 1 + size(((ScalarSubquery) subquery).plan());
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            result += size(child);
        }
        return result;
    }

    /** Whether an expression is there for speed alone, whatever it reads: files that a join, or a row-level command, does not need. */
    public static boolean prunes(Expression expression) {
        return expression instanceof DynamicPruning || expression instanceof BloomFilterMightContain;
    }

    private static void collect(Expression expression, Map<Object, Expression> found) {
        if (prunes(expression)) {
            return;
        }
        if (expression instanceof ScalarSubquery scalarSubquery) {
            Object id = scalarSubquery.exprId();
            if (!found.containsKey(id)) {
                found.put(id, expression);
            }
            return;
        }
        for (Expression child : Scala.list(expression.children())) {
            collect(child, found);
        }
    }
}
