package headwater.rewrite.subqueries;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Capture;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Inputs;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;
import scala.runtime.AbstractFunction1;

/**
 * Scalar subqueries in any operator. The single row of a subquery is tapped at the root of its plan with a constant
 * key. Every row of the operator gets that key in a hidden column, because every row depends on the subquery.
 */
public final class Subqueries {
    private static final Long KEY = 0L;

    public final LogicalPlan node; // with the subqueries rewritten
    private final List<Integer> operators = new ArrayList<>(); // of the subqueries, Integer

    private Subqueries(LogicalPlan node) {
        this.node = node;
    }

    public static Subqueries rewrite(LogicalPlan node, Rewriter rewriter) {
        List<Expression> all = Inputs.subqueries(node);
        if (all.isEmpty()) {
            return new Subqueries(node);
        }
        Map<ExprId, ScalarSubquery> renewed = new HashMap<>();
        List<Integer> operators = new ArrayList<>();
        for (Expression expression : all) {
            ScalarSubquery subquery = (ScalarSubquery) expression;
            int operator = rewriter.number();
            sayExistence(subquery.plan(), rewriter.capture);
            operators.add(operator);
            renewed.put(subquery.exprId(), subquery.withNewPlan(plan(subquery.plan(), operator, rewriter)));
        }
        Subqueries result = new Subqueries(node.mapExpressions(new Replaced(renewed)));
        result.operators.addAll(operators);
        return result;
    }

    /** The operator's rows with the subqueries' keys. */
    public Rewritten joined(Rewritten result, LogicalPlan original) {
        if (operators.isEmpty()) {
            return result;
        }
        List<NamedExpression> columns = Scala.list(result.plan.output());
        List<HiddenColumn> hidden = new ArrayList<>(result.hidden);
        for (Integer operator : operators) {
            Alias key = Rewriter.alias(new Literal(KEY, DataTypes.LongType), "subquery");
            columns.add(key);
            hidden.add(new HiddenColumn(key.toAttribute(), operator.intValue()));
        }
        return new Rewritten(new HiddenProject(Scala.seq(columns), result.plan, original), hidden);
    }

    /** EXISTS without correlation is made to a scalar subquery that reads a literal of one row. */
    private static void sayExistence(LogicalPlan plan, Capture capture) {
        boolean literal = false;
        boolean limited = false;
        LogicalPlan below = plan;
        while (below instanceof Project || below instanceof GlobalLimit || below instanceof LocalLimit) {
            List<NamedExpression> columns = below instanceof Project project ? Scala.list(project.projectList()) : new ArrayList<>();
            literal |= columns.size() == 1 && columns.get(0) instanceof Alias alias && alias.child().foldable();
            limited |= below instanceof GlobalLimit;
            below = below.children().apply(0);
        }
        if (literal && limited) {
            String reason = "the optimizer lets this EXISTS read one row; the other rows that are there are not listed";
            capture.problem("ScalarSubquery", reason, "missing");
        }
    }

    private static LogicalPlan plan(LogicalPlan original, int operator, Rewriter rewriter) {
        Boundary boundary = rewriter.boundary(SegmentSpec.MATCH, operator, original);
        Rewritten child = rewriter.rewrite(original);
        boundary.column("key", null, 0);
        List<Expression> values = new ArrayList<>();
        values.add(new Literal(KEY, DataTypes.LongType));
        boundary.hidden(child, values);
        LogicalPlan tapped = Rewriter.tapped(child.plan, values, rewriter.capture.sink(boundary));
        if (original.deterministic()) {
            tapped = new SettledFilter(((Filter) tapped).condition(), child.plan);
        }
        return new HiddenProject(original.output(), tapped, original);
    }

    /** Puts the rewritten subqueries into an expression; leaves alone what only prunes. */
    private static final class Replaced extends AbstractFunction1<Expression, Expression> {
        private final Map<ExprId, ScalarSubquery> renewed;

        Replaced(Map<ExprId, ScalarSubquery> renewed) {
            this.renewed = renewed;
        }

        public Expression apply(Expression expression) {
            return Inputs.prunes(expression) ? expression : within(expression);
        }

        private Expression within(Expression expression) {
            if (expression instanceof ScalarSubquery scalarSubquery) {
                Object known = renewed.get(scalarSubquery.exprId());
                return known == null ? expression : (Expression) known;
            }
            return (Expression) expression.mapChildren(this);
        }
    }
}
