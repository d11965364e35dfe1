package headwater.describe;

import headwater.shim.Scala;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.ReplicateRows;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;

/**
 * INTERSECT ALL and EXCEPT ALL. Spark rewrites them to an aggregate that counts the rows of both sides, and a generator
 * above it that repeats each row. No other query contains that generator.
 */
final class SetOperations {
    private SetOperations() {}

    /** Remembers the aggregate of a set operation, by the generator that stands above it. */
    static void mark(Generate node, Map<LogicalPlan, String> sets) {
        if (!(node.generator() instanceof ReplicateRows)) {
            return;
        }
        LogicalPlan below = node.child();
        while (below instanceof Project || below instanceof Filter) {
            below = below.children().apply(0);
        }
        if (below instanceof Aggregate aggregate && isOverUnion(below)) {
            for (NamedExpression column : Scala.list(aggregate.aggregateExpressions())) {
                mark((Expression) column, below, sets);
            }
        }
    }

    private static boolean isOverUnion(LogicalPlan aggregate) {
        LogicalPlan below = aggregate.children().apply(0);
        while (below instanceof Project) {
            below = below.children().apply(0);
        }
        return below instanceof Union;
    }

    /** EXCEPT ALL adds up +1 and −1, INTERSECT ALL counts each side. */
    private static void mark(Expression expression, LogicalPlan aggregate, Map<LogicalPlan, String> sets) {
        if (expression instanceof AggregateExpression aggregateExpression) {
            Object function = aggregateExpression.aggregateFunction();
            if (function instanceof Sum) {
                sets.put(aggregate, "except all");
            } else if (function instanceof Count) {
                sets.put(aggregate, "intersect all");
            }
            return;
        }
        for (Expression child : Scala.list(expression.children())) {
            mark(child, aggregate, sets);
        }
    }
}
