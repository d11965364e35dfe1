package headwater.describe;

import headwater.shim.Scala;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * Several DISTINCT aggregates as the optimizer writes them: an Expand makes a row for each of them, numbered `gid`, an aggregate keeps one
 * of each value, and one above counts those of its number (RewriteDistinctAggregates). There, a plain function was a DISTINCT one.
 */
final class DistinctGroups {
    private final Set numbers = new HashSet(); // ExprId of the Expand's numbers

    /** Below an aggregate. */
    static DistinctGroups under(Aggregate aggregate) {
        DistinctGroups result = new DistinctGroups();
        LogicalPlan node = aggregate.child();
        boolean kept = false;
        while (node instanceof Project || node.getClass() == Aggregate.class) {
            kept |= node instanceof Aggregate;
            node = (LogicalPlan) node.children().apply(0);
        }
        if (kept && node instanceof Expand) {
            List output = Scala.list(node.output());
            for (int i = 0; i < output.size(); i++) {
                if (((Attribute) output.get(i)).name().equals("gid")) {
                    result.numbers.add(((Attribute) output.get(i)).exprId());
                }
            }
        }
        return result;
    }

    /** Whether the function takes each value once: it asks for the rows of a number from 1 on (0 are those of plain functions). */
    boolean take(AggregateExpression function) {
        Expression filter = (Expression) Scala.orNull(function.filter());
        if (!(filter instanceof EqualTo)) {
            return false;
        }
        Expression number = ((EqualTo) filter).left();
        Expression wanted = ((EqualTo) filter).right();
        return number instanceof Attribute && numbers.contains(((Attribute) number).exprId()) && wanted instanceof Literal
            && ((Literal) wanted).value() instanceof Integer && ((Integer) ((Literal) wanted).value()).intValue() > 0;
    }
}
