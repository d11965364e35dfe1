package headwater.rewrite.subqueries;

import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.types.DataTypes;

/**
 * A filter over existence joins, as EXISTS under OR creates. For each join, a hidden column states whether the row
 * would pass without its match because another branch is true. A witness does not need the match then. If several
 * matches can be omitted, the first are.
 */
public final class ExistenceFilter {
    private ExistenceFilter() {}

    public static Rewritten marked(Filter filter, Rewritten rows, Rewriter rewriter) {
        Expression condition = filter.condition();
        if (rewriter.existences.isEmpty() || !condition.deterministic() || readsPlan(condition)) {
            return rows;
        }
        Rewritten result = rows;
        for (int i = 0; i < rows.hidden.size(); i++) {
            HiddenColumn match = rows.hidden.get(i);
            Attribute exists = rewriter.existences.get(match.operator);
            boolean asked = exists != null && match.role.equals(HiddenColumn.REF) && condition.references().contains(exists);
            if (!asked || !ExistenceUse.isOnlyIn(exists, filter, rewriter.capture.original)) {
                continue;
            }
            Expression without = replaced(condition, exists, new Literal(false, DataTypes.BooleanType));
            Alias passes = Rewriter.alias(new If(without, number(1L), number(0L)), "branch");
            List<NamedExpression> columns = Scala.list(result.plan.output());
            columns.add(passes);
            List<HiddenColumn> hidden = new ArrayList<>(result.hidden);
            hidden.add(new HiddenColumn(passes.toAttribute(), match.operator, HiddenColumn.BRANCH));
            result = new Rewritten(new HiddenProject(Scala.seq(columns), result.plan, filter), hidden);
            condition = replaced(condition, exists, new And(exists, new EqualTo(passes.toAttribute(), number(0L))));
        }
        return result;
    }

    private static Expression replaced(Expression expression, Attribute attribute, Expression by) {
        if (expression instanceof Attribute ownAttribute) {
            return ownAttribute.exprId().equals(attribute.exprId()) ? by : expression;
        }
        List<Expression> children = Scala.list(expression.children());
        List<Expression> renewed = new ArrayList<>();
        for (Expression child : children) {
            renewed.add(replaced(child, attribute, by));
        }
        return children.isEmpty() ? expression : expression.withNewChildren(Scala.seq(renewed));
    }

    private static boolean readsPlan(Expression expression) {
        List<Expression> children = Scala.list(expression.children());
        boolean result = expression instanceof PlanExpression<?>;
        for (Expression child : children) {
            result |= readsPlan(child);
        }
        return result;
    }

    private static Literal number(long value) {
        return new Literal(value, DataTypes.LongType);
    }
}
