package headwater.rewrite;

import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;

/**
 * The distinct values that rows give to a LATERAL or correlated query: Spark computes some such queries for all of them at once, and joins the
 * rows back. The query as written has no such aggregate, and a row joined back brings its own values: nothing of it is followed. It
 * is told by its columns, which are new; new are also those of a query that WITH defines and that is used twice.
 */
final class OuterValues {
    private OuterValues() {}

    /** Whether an aggregate is nothing but that. Where it only may be, an answer says so. */
    static boolean are(Aggregate aggregate, Capture capture) {
        if (!isDistinctOfRenamed(aggregate)) {
            return false;
        }
        LogicalPlan written = capture.writtenIfKnown();
        if (written != null && (!readsOuter(written) || LateralLimit.defines(written, firstOf(aggregate)))) {
            return false;
        }
        if (written != null && !defines(written) && isJoined(capture.original, false, aggregate)) {
            return true; // rows are always joined back to it
        }
        if (written != null || isJoined(capture.original, false, aggregate)) {
            String reason = "it may be of the values that rows give to a LATERAL or correlated query, whose own rows alone would be given";
            capture.problem("Aggregate", reason, "superset");
        }
        return false;
    }

    private static NamedExpression firstOf(Aggregate aggregate) {
        return (NamedExpression) aggregate.aggregateExpressions().apply(0);
    }

    /** Whether all columns are keys under other names. */
    private static boolean isDistinctOfRenamed(Aggregate aggregate) {
        List keys = Scala.list(aggregate.groupingExpressions());
        List columns = Scala.list(aggregate.aggregateExpressions());
        for (int i = 0; i < columns.size(); i++) {
            if (!(columns.get(i) instanceof Alias) || !keys.contains(((Alias) columns.get(i)).child())) {
                return false;
            }
        }
        return !columns.isEmpty();
    }

    private static boolean defines(LogicalPlan node) {
        if (node instanceof WithCTE) {
            return true;
        }
        List inner = inner(node);
        for (int i = 0; i < inner.size(); i++) {
            if (defines((LogicalPlan) inner.get(i))) {
                return true;
            }
        }
        return false;
    }

    /** Whether a subquery reads columns of the query around it. */
    private static boolean readsOuter(LogicalPlan node) {
        List expressions = Scala.list(node.expressions());
        for (int i = 0; i < expressions.size(); i++) {
            if (readsOuter((Expression) expressions.get(i))) {
                return true;
            }
        }
        List inner = inner(node);
        for (int i = 0; i < inner.size(); i++) {
            if (readsOuter((LogicalPlan) inner.get(i))) {
                return true;
            }
        }
        return false;
    }

    private static boolean readsOuter(Expression expression) {
        if (expression instanceof SubqueryExpression && !((SubqueryExpression) expression).getOuterAttrs().isEmpty()) {
            return true;
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            if (readsOuter((Expression) children.get(i))) {
                return true;
            }
        }
        return false;
    }

    private static List inner(LogicalPlan node) {
        List inner = Scala.list(node.children());
        inner.addAll(Scala.list(node.subqueries()));
        return inner;
    }

    private static boolean isJoined(LogicalPlan node, boolean below, Aggregate aggregate) {
        if (below && node == aggregate) {
            return true;
        }
        List children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            if (isJoined((LogicalPlan) children.get(i), below || node instanceof Join, aggregate)) {
                return true;
            }
        }
        return false;
    }
}
