package headwater.rewrite;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A relation that the optimiser found to be empty: no row, no reference. */
final class EmptyFamily extends Family {
    boolean takes(LogicalPlan node) {
        return node instanceof LocalRelation && ((LocalRelation) node).data().isEmpty();
    }

    Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        return new Rewritten(node, new ArrayList());
    }
}
