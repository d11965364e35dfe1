package headwater.rewrite.families;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Differences;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.plans.logical.WindowGroupLimit;

/**
 * The LIMIT or OFFSET of a query that runs for each row of another. Spark computes it with a row number in a new
 * column, which the query as written does not have. A query that is used twice gets new columns with the same names, so
 * a row number with a new name is such a LIMIT.
 */
final class LateralLimit {
    private LateralLimit() {}

    /** Whether a window is nothing but that. */
    static boolean is(Window window, Capture capture) {
        LogicalPlan written = capture.writtenIfKnown();
        return written != null && maybe(window, capture) && !numbersRows(written, columnOf(window).name());
    }

    /** Whether a window may be that. */
    static boolean maybe(Window window, Capture capture) {
        List<NamedExpression> columns = Scala.list(window.windowExpressions());
        if (columns.size() != 1 || !isRowNumber((Expression) columns.get(0))) {
            return false;
        }
        LogicalPlan written = capture.writtenIfKnown();
        if (written == null) {
            return isJoined(capture.original, false, window); // only a join could have put it there
        }
        return limitsForEachRow(written) && !defines(written, columns.get(0));
    }

    /** The window with its input's references: a row that it lets pass is a row of its input. */
    static Rewritten rewrite(Window window, Rewriter rewriter) {
        rewriter.capture.limitsForEachRow.add(columnOf(window).exprId());
        addLimits(window.child(), rewriter.capture);
        return passed(window, rewriter.rewrite(window.child()));
    }

    /** The limits that Spark puts below the window: one directly, and another below a filter that it then pushes between the two. */
    private static void addLimits(LogicalPlan node, Capture capture) {
        LogicalPlan below = node;
        while (below instanceof WindowGroupLimit || below instanceof Filter || below instanceof Project) {
            if (below instanceof WindowGroupLimit) {
                capture.passing.put(below, true);
            }
            below = below.children().apply(0);
        }
    }

    /** A node of one input that passes its rows. */
    static Rewritten passed(LogicalPlan node, Rewritten child) {
        return new Rewritten(node.withNewChildren(Scala.seq(child.plan)), child.hidden);
    }

    private static NamedExpression columnOf(Window window) {
        return window.windowExpressions().apply(0);
    }

    /** Whether a plan has a window of its own with a row number of this name. */
    private static boolean numbersRows(LogicalPlan node, String name) {
        List<NamedExpression> columns = node instanceof Window window ? Scala.list(window.windowExpressions()) : new ArrayList<>();
        for (NamedExpression column : columns) {
            if (isRowNumber((Expression) column) && column.name().equals(name)) {
                return true;
            }
        }
        List<LogicalPlan> inner = Scala.list(node.children());
        inner.addAll(Scala.list(node.subqueries()));
        for (LogicalPlan plan : inner) {
            if (numbersRows(plan, name)) {
                return true;
            }
        }
        return false;
    }

    /** Whether a window stands below a join. */
    private static boolean isJoined(LogicalPlan node, boolean below, Window window) {
        if (below && node instanceof Window ownWindow && ownWindow.windowExpressions().equals(window.windowExpressions())) {
            return true;
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            if (isJoined(child, below || node instanceof Join, window)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isRowNumber(Expression column) {
        Expression bare = column instanceof Alias alias ? alias.child() : column;
        return bare instanceof WindowExpression windowExpression && windowExpression.windowFunction() instanceof RowNumber;
    }

    /** Whether a subquery that reads columns of the query around it has a limit, or an offset. */
    private static boolean limitsForEachRow(LogicalPlan node) {
        for (Expression expression : Scala.list(node.expressions())) {
            if (limitsForEachRow(expression)) {
                return true;
            }
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            if (limitsForEachRow(child)) {
                return true;
            }
        }
        return false;
    }

    private static boolean limitsForEachRow(Expression expression) {
        if (expression instanceof SubqueryExpression subquery) {
            LogicalPlan plan = subquery.plan();
            if ((!Differences.outerAttributes(subquery).isEmpty() && hasLimit(plan)) || limitsForEachRow(plan)) {
                return true;
            }
        }
        for (Expression child : Scala.list(expression.children())) {
            if (limitsForEachRow(child)) {
                return true;
            }
        }
        return false;
    }

    private static boolean hasLimit(LogicalPlan node) {
        if (node instanceof GlobalLimit || node instanceof Offset) {
            return true;
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            if (hasLimit(child)) {
                return true;
            }
        }
        return false;
    }

    static boolean defines(LogicalPlan node, NamedExpression column) {
        for (Attribute attribute : Scala.list(node.output())) {
            if (attribute.exprId().equals(column.exprId())) {
                return true;
            }
        }
        List<LogicalPlan> inner = Scala.list(node.children());
        inner.addAll(Scala.list(node.subqueries()));
        for (LogicalPlan plan : inner) {
            if (defines(plan, column)) {
                return true;
            }
        }
        return false;
    }
}
