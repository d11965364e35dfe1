package headwater.rewrite.subqueries;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The filter of a tap at the root of a subquery. The filter declares that the plan is deterministic. The tap declares
 * the opposite, so that nothing moves or removes it. The rows are the same with and without the tap, and a filter that
 * compares with the subquery must still be pushed into the scan.
 */
public final class SettledFilter extends Filter {
    public SettledFilter(Expression condition, LogicalPlan child) {
        super(condition, child);
    }

    public boolean deterministic() {
        return true;
    }

    public Filter withNewChildInternal(LogicalPlan child) {
        return new SettledFilter(condition(), child);
    }

    public String nodeName() {
        return "Filter";
    }
}
