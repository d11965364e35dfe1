package headwater.rewrite.families;

import headwater.rewrite.core.Capture;
import headwater.shim.Differences;
import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Window;

/**
 * The LIMIT of a query that is run for each row of another: Spark makes a row number of it, which the query as written has not. Told by
 * the number's column, which is new; but so are those of a query that is used twice, so this says no more than that it may be one.
 */
final class LateralLimit {
    private LateralLimit() {}

    static boolean maybe(Window window, Capture capture) {
        List columns = Scala.list(window.windowExpressions());
        if (columns.size() != 1 || !isRowNumber((Expression) columns.get(0))) {
            return false;
        }
        LogicalPlan written = capture.writtenIfKnown();
        if (written == null) {
            return isJoined(capture.original, false, window); // only a join could have put it there
        }
        return limitsForEachRow(written) && !defines(written, (NamedExpression) columns.get(0));
    }

    /** Whether a window stands below a join. */
    private static boolean isJoined(LogicalPlan node, boolean below, Window window) {
        if (below && node instanceof Window && ((Window) node).windowExpressions().equals(window.windowExpressions())) {
            return true;
        }
        List children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            if (isJoined((LogicalPlan) children.get(i), below || node instanceof Join, window)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isRowNumber(Expression column) {
        Expression bare = column instanceof Alias ? ((Alias) column).child() : column;
        return bare instanceof WindowExpression && ((WindowExpression) bare).windowFunction() instanceof RowNumber;
    }

    /** Whether a subquery that reads columns of the query around it has a limit. */
    private static boolean limitsForEachRow(LogicalPlan node) {
        List expressions = Scala.list(node.expressions());
        for (int i = 0; i < expressions.size(); i++) {
            if (limitsForEachRow((Expression) expressions.get(i))) {
                return true;
            }
        }
        List children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            if (limitsForEachRow((LogicalPlan) children.get(i))) {
                return true;
            }
        }
        return false;
    }

    private static boolean limitsForEachRow(Expression expression) {
        if (expression instanceof SubqueryExpression) {
            SubqueryExpression subquery = (SubqueryExpression) expression;
            LogicalPlan plan = (LogicalPlan) subquery.plan();
            if ((!Differences.outerAttributes(subquery).isEmpty() && hasLimit(plan)) || limitsForEachRow(plan)) {
                return true;
            }
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            if (limitsForEachRow((Expression) children.get(i))) {
                return true;
            }
        }
        return false;
    }

    private static boolean hasLimit(LogicalPlan node) {
        if (node instanceof GlobalLimit) {
            return true;
        }
        List children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            if (hasLimit((LogicalPlan) children.get(i))) {
                return true;
            }
        }
        return false;
    }

    static boolean defines(LogicalPlan node, NamedExpression column) {
        List output = Scala.list(node.output());
        for (int i = 0; i < output.size(); i++) {
            if (((NamedExpression) output.get(i)).exprId().equals(column.exprId())) {
                return true;
            }
        }
        List inner = Scala.list(node.children());
        inner.addAll(Scala.list(node.subqueries()));
        for (int i = 0; i < inner.size(); i++) {
            if (defines((LogicalPlan) inner.get(i), column)) {
                return true;
            }
        }
        return false;
    }
}
