package headwater.rewrite.subqueries;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * A filter of a tap at the root of a subquery that says, to what stands above, that all below is deterministic. The tap itself says that it
 * is not, so that nothing moves or drops it; the rows are the same with it or without, and a filter that compares with the
 * subquery must still be pushed into the scan.
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
