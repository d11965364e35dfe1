package headwater.rewrite.families;

import headwater.rewrite.core.Capture;
import headwater.shim.Differences;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.Distinct;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SetOperation;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;

/**
 * The distinct values that rows give to a LATERAL or correlated query: Spark computes some such queries for all of them at once, and joins the
 * rows back. The query as written has no such aggregate, and a row joined back brings its own values: nothing of it is followed. It
 * is told by its columns, which are new; new are also those of a query that WITH defines and that is used twice.
 */
final class OuterValues {
    private static final String DOUBT =
        "it may be of the values that rows give to a LATERAL or correlated query, whose own rows alone would be given";

    private OuterValues() {}

    /** Whether an aggregate is nothing but that. Where it only may be, an answer says so. */
    static boolean are(Aggregate aggregate, Capture capture) {
        if (!isDistinctOfRenamed(aggregate)) {
            return areTheirOwn(aggregate, capture);
        }
        LogicalPlan written = capture.writtenIfKnown();
        if (written != null && (outerOf(written).isEmpty() || LateralLimit.defines(written, firstOf(aggregate)))) {
            return false;
        }
        if (written != null && !defines(written) && isJoined(capture.original, false, aggregate)) {
            return true; // rows are always joined back to it
        }
        if (written != null || isJoined(capture.original, false, aggregate)) {
            capture.problem("Aggregate", DOUBT, "superset");
        }
        return false;
    }

    /**
     * The same under the names that the rows' own columns have: Spark leaves that where it brings the other side of the join new columns. It is
     * told by what the query as written groups: not these.
     */
    private static boolean areTheirOwn(Aggregate aggregate, Capture capture) {
        List columns = Scala.list(aggregate.aggregateExpressions());
        if (columns.isEmpty() || !Scala.list(aggregate.groupingExpressions()).containsAll(columns)
            || !isJoined(capture.original, false, aggregate)) {
            return false;
        }
        LogicalPlan written = capture.writtenIfKnown();
        if (written == null ? !renames(aggregate.child()) : !areOuter(columns, written)) {
            return false;
        }
        if (written == null || defines(written) || isGrouped(columns, written)) {
            capture.problem("Aggregate", DOUBT, "superset");
            return false;
        }
        return true;
    }

    /** Whether a projection gives all its columns new names. */
    private static boolean renames(LogicalPlan node) {
        List columns = node instanceof Project ? Scala.list(((Project) node).projectList()) : new ArrayList();
        for (int i = 0; i < columns.size(); i++) {
            if (!(columns.get(i) instanceof Alias)) {
                return false;
            }
        }
        return !columns.isEmpty();
    }

    /** Whether subqueries read all these columns from the query around them. */
    private static boolean areOuter(List columns, LogicalPlan written) {
        Set outer = outerOf(written);
        for (int i = 0; i < columns.size(); i++) {
            if (!outer.contains(((NamedExpression) columns.get(i)).exprId())) {
                return false;
            }
        }
        return true;
    }

    /** The columns that subqueries read of the query around them. */
    private static Set outerOf(LogicalPlan written) {
        Set outer = new HashSet();
        addOuter(written, outer);
        return outer;
    }

    private static void addOuter(LogicalPlan node, Set outer) {
        List expressions = Scala.list(node.expressions());
        for (int i = 0; i < expressions.size(); i++) {
            addOuter((Expression) expressions.get(i), outer);
        }
        List inner = inner(node);
        for (int i = 0; i < inner.size(); i++) {
            addOuter((LogicalPlan) inner.get(i), outer);
        }
    }

    private static void addOuter(Expression expression, Set outer) {
        List read = expression instanceof SubqueryExpression ? Differences.outerAttributes((SubqueryExpression) expression) : new ArrayList();
        for (int i = 0; i < read.size(); i++) {
            outer.add(read.get(i) instanceof NamedExpression ? (Object) ((NamedExpression) read.get(i)).exprId() : read.get(i));
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            addOuter((Expression) children.get(i), outer);
        }
    }

    /** Whether the query as written makes groups, or distinct rows, of one of these columns. */
    private static boolean isGrouped(List columns, LogicalPlan node) {
        if (node instanceof Aggregate || node instanceof Distinct || node instanceof Deduplicate || node instanceof SetOperation) {
            List output = Scala.list(node.output());
            for (int i = 0; i < output.size(); i++) {
                for (int j = 0; j < columns.size(); j++) {
                    if (((NamedExpression) output.get(i)).exprId().equals(((NamedExpression) columns.get(j)).exprId())) {
                        return true;
                    }
                }
            }
        }
        List inner = inner(node);
        for (int i = 0; i < inner.size(); i++) {
            if (isGrouped(columns, (LogicalPlan) inner.get(i))) {
                return true;
            }
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
