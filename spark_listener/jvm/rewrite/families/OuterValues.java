package headwater.rewrite.families;

import headwater.rewrite.core.Capture;
import headwater.shim.Differences;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
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
 * The distinct outer values of a LATERAL or correlated query. Spark computes some such queries for all values at once,
 * and joins the rows back. The query as written has no such aggregate, and a joined row has its own values, so no
 * records are followed here. The new columns identify the aggregate. A query in WITH that is used twice also has new
 * columns.
 */
final class OuterValues {
    private static final String DOUBT =
        "it may be of the values that rows give to a LATERAL or correlated query, whose own rows alone would be given";

    private OuterValues() {}

    /** Whether an aggregate only collects outer values. If that is not certain, an answer reports it. */
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
     * The same for an aggregate with the names of the rows' own columns. Spark keeps them if the other side of the join
     * gets new columns. The aggregate is identified by its keys: the query as written does not group by them.
     */
    private static boolean areTheirOwn(Aggregate aggregate, Capture capture) {
        List<NamedExpression> columns = Scala.list(aggregate.aggregateExpressions());
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
        List<NamedExpression> columns = node instanceof Project project ? Scala.list(project.projectList()) : new ArrayList<>();
        for (NamedExpression column : columns) {
            if (!(column instanceof Alias)) {
                return false;
            }
        }
        return !columns.isEmpty();
    }

    /** Whether subqueries read all these columns from the query around them. */
    private static boolean areOuter(List<NamedExpression> columns, LogicalPlan written) {
        Set<Object> outer = outerOf(written);
        for (NamedExpression column : columns) {
            if (!outer.contains(column.exprId())) {
                return false;
            }
        }
        return true;
    }

    /** The columns that subqueries read of the query around them. */
    private static Set<Object> outerOf(LogicalPlan written) {
        Set<Object> outer = new HashSet<>();
        addOuter(written, outer);
        return outer;
    }

    private static void addOuter(LogicalPlan node, Set<Object> outer) {
        for (Expression expression : Scala.list(node.expressions())) {
            addOuter(expression, outer);
        }
        for (LogicalPlan plan : inner(node)) {
            addOuter(plan, outer);
        }
    }

    private static void addOuter(Expression expression, Set<Object> outer) {
        List<Expression> read = expression instanceof SubqueryExpression subqueryExpression ? Differences.outerAttributes(subqueryExpression) : new ArrayList<>();
        for (Expression each : read) {
            outer.add(each instanceof NamedExpression named ? (Object) named.exprId() : each);
        }
        for (Expression child : Scala.list(expression.children())) {
            addOuter(child, outer);
        }
    }

    /** Whether the query as written makes groups, or distinct rows, of one of these columns. */
    private static boolean isGrouped(List<NamedExpression> columns, LogicalPlan node) {
        if (node instanceof Aggregate || node instanceof Distinct || node instanceof Deduplicate || node instanceof SetOperation) {
            for (Attribute column : Scala.list(node.output())) {
                if (columns.stream().anyMatch(key -> key.exprId().equals(column.exprId()))) {
                    return true;
                }
            }
        }
        for (LogicalPlan plan : inner(node)) {
            if (isGrouped(columns, plan)) {
                return true;
            }
        }
        return false;
    }

    private static NamedExpression firstOf(Aggregate aggregate) {
        return aggregate.aggregateExpressions().apply(0);
    }

    /** Whether all columns are keys under other names. */
    private static boolean isDistinctOfRenamed(Aggregate aggregate) {
        List<Expression> keys = Scala.list(aggregate.groupingExpressions());
        List<NamedExpression> columns = Scala.list(aggregate.aggregateExpressions());
        for (NamedExpression column : columns) {
            if (!(column instanceof Alias alias) || !keys.contains(alias.child())) {
                return false;
            }
        }
        return !columns.isEmpty();
    }

    private static boolean defines(LogicalPlan node) {
        if (node instanceof WithCTE) {
            return true;
        }
        for (LogicalPlan plan : inner(node)) {
            if (defines(plan)) {
                return true;
            }
        }
        return false;
    }

    private static List<LogicalPlan> inner(LogicalPlan node) {
        List<LogicalPlan> inner = Scala.list(node.children());
        inner.addAll(Scala.list(node.subqueries()));
        return inner;
    }

    private static boolean isJoined(LogicalPlan node, boolean below, Aggregate aggregate) {
        if (below && node == aggregate) {
            return true;
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            if (isJoined(child, below || node instanceof Join, aggregate)) {
                return true;
            }
        }
        return false;
    }
}
