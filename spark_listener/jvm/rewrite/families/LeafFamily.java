package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.text.Behaviour;
import java.util.ArrayList;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;

/**
 * Leaves whose rows do not come from records: a range, the one row of a query without FROM, a relation that the
 * optimizer found to be empty.
 */
public final class LeafFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof Range || node instanceof OneRowRelation || (node instanceof LocalRelation localRelation && localRelation.data().isEmpty());
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        return new Rewritten(node, new ArrayList<>());
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.CONSTANT;
    }
}
