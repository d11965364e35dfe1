package headwater.rewrite;

import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Operators that cannot be followed, with the reason. */
final class OpaqueFamily extends Family {
    boolean takes(LogicalPlan node) {
        return node instanceof FlatMapGroupsInPandas || node instanceof FlatMapGroupsInArrow || node instanceof FlatMapCoGroupsInPandas
            || node instanceof FlatMapCoGroupsInArrow;
    }

    Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        throw new Refused(node.nodeName(), "the rows that the function gives do not say of which group they were made");
    }
}
