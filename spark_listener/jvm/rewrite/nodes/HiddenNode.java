package headwater.rewrite.nodes;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** A node of a rewritten plan whose statistics are those that it would have without hidden columns. */
interface HiddenNode {
    /** The node of the query's own plan whose rows it gives. */
    LogicalPlan original();

    /** The node without hidden columns, over a child without them. */
    LogicalPlan visible(LogicalPlan child);
}
