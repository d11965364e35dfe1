package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Operators that cannot be followed, with the reason. */
public final class OpaqueFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof FlatMapGroupsInPandas || node instanceof FlatMapGroupsInArrow || node instanceof FlatMapCoGroupsInPandas
            || node instanceof FlatMapCoGroupsInArrow;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        throw new Refused(node.nodeName(), "the rows that the function gives do not say of which group they were made");
    }
}
