package headwater.rewrite.recomputed;

import headwater.rewrite.keys.SemiJoinKeys;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Decides which groups and matches of a query are left to traces. Together they stay within the budget, because one
 * trace may need all of them.
 */
public final class TraceBudget {
    final boolean open; // whether anything is left to traces at all
    private double left; // seconds
    private final Map<LogicalPlan, Recomputable> known = new IdentityHashMap<>(); // Aggregate, or Join that is a semi-join -> Recomputable or null

    public TraceBudget(double seconds) {
        this.open = seconds > 0.0;
        this.left = seconds;
    }

    /** Null where the groups of an aggregate have to be written. */
    public Recomputable of(Aggregate aggregate) {
        if (open && !known.containsKey(aggregate)) {
            known.put(aggregate, afforded(Recomputable.of(aggregate)));
        }
        return known.get(aggregate);
    }

    /** Null where what a semi-join finds has to be written. */
    public Recomputable of(Join join, SemiJoinKeys keys) {
        if (open && !known.containsKey(join)) {
            known.put(join, afforded(Recomputable.of(join, keys)));
        }
        return known.get(join);
    }

    /** Lets go of the plans. */
    public void clear() {
        known.clear();
    }

    private Recomputable afforded(Recomputable found) {
        if (found == null || found.seconds > left) {
            return null;
        }
        left -= found.seconds;
        return found;
    }
}
