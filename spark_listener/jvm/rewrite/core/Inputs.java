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
 * What is numbered below an operator, for the rewriter and the description alike: first each scalar subquery of its expressions (an
 * operator of its own, with its plan below), then its children.
 */
public final class Inputs {
    private Inputs() {}

    /**
     * The scalar subqueries in a node's expressions, each once. Those that only prune what a join above leaves out anyway (dynamic partition
     * pruning, Bloom filters) are none: they are not lineage.
     */
    public static List subqueries(LogicalPlan node) {
        Map found = new LinkedHashMap();
        List expressions = Scala.list(node.expressions());
        for (int i = 0; i < expressions.size(); i++) {
            collect((Expression) expressions.get(i), found);
        }
        return new ArrayList(found.values());
    }

    /** How many numbers a node and all below it take. */
    public static int size(LogicalPlan node) {
        int result = 1;
        List subqueries = subqueries(node);
        for (int i = 0; i < subqueries.size(); i++) {
            result += 1 + size((LogicalPlan) ((ScalarSubquery) subqueries.get(i)).plan());
        }
        List children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            result += size((LogicalPlan) children.get(i));
        }
        return result;
    }

    /** Whether an expression is there for speed alone, whatever it reads: files that a join, or a row-level command, does not need. */
    public static boolean prunes(Expression expression) {
        return expression instanceof DynamicPruning || expression instanceof BloomFilterMightContain;
    }

    private static void collect(Expression expression, Map found) {
        if (prunes(expression)) {
            return;
        }
        if (expression instanceof ScalarSubquery) {
            Object id = ((ScalarSubquery) expression).exprId();
            if (!found.containsKey(id)) {
                found.put(id, expression);
            }
            return;
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            collect((Expression) children.get(i), found);
        }
    }
}
