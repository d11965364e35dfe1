package headwater.rewrite.subqueries;

import headwater.rewrite.core.WriteRewrite;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** How a query uses the column of an existence join. */
public final class ExistenceUse {
    private final ExprId exists;
    private boolean asserted;
    private boolean denied;
    private boolean written;
    private final List<LogicalPlan> readers = new ArrayList<>();

    private ExistenceUse(ExprId exists) {
        this.exists = exists;
    }

    /** Whether the query only ever asks that there be no match: then matches are an absence, as of an anti-join. */
    public static boolean isAbsence(Attribute exists, LogicalPlan query) {
        ExistenceUse use = new ExistenceUse(exists.exprId());
        use.visit(query);
        return use.denied && !use.asserted;
    }

    /** Whether one filter alone asks, and the column goes nowhere else. */
    static boolean isOnlyIn(Attribute exists, LogicalPlan filter, LogicalPlan query) {
        ExistenceUse use = new ExistenceUse(exists.exprId());
        use.visit(query);
        return !use.written && use.readers.size() == 1 && use.readers.get(0) == filter;
    }

    private void visit(LogicalPlan node) {
        for (Expression expression : Scala.list(node.expressions())) {
            if (!(expression instanceof Attribute) && reads(expression)) {
                readers.add(node);
            }
            if (node instanceof Filter || node instanceof Join) { // an optimizer may put the one's condition into the other
                visit(expression, false);
            } else if (!(expression instanceof Attribute)) { // that only passes it on, to where it is found again
                asserted |= reads(expression);
            }
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            visit(child);
        }
        boolean writes = node.children().size() == 1 && WriteRewrite.takes(node);
        written |= writes && node.children().apply(0).outputSet().exists(new Same(exists));
        asserted |= written;
    }

    private void visit(Expression expression, boolean negated) {
        if (expression instanceof Not not) {
            visit(not.child(), !negated);
        } else if (expression instanceof And || expression instanceof Or) {
            visit(expression.children().apply(0), negated);
            visit(expression.children().apply(1), negated);
        } else if (expression instanceof Attribute attribute) {
            boolean found = attribute.exprId().equals(exists);
            asserted |= found && !negated;
            denied |= found && negated;
        } else {
            asserted |= reads(expression);
        }
    }

    private boolean reads(Expression expression) {
        return expression.references().exists(new Same(exists));
    }

    /** Whether an attribute is the column. */
    private static final class Same extends scala.runtime.AbstractFunction1<Attribute, Object> {
        private final ExprId exists;

        Same(ExprId exists) {
            this.exists = exists;
        }

        public Object apply(Attribute attribute) {
            return attribute.exprId().equals(exists);
        }
    }
}
