package headwater.rewrite.core;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** How the operators of one kind are rewritten. A new operator is a new family in Rewriter.FAMILIES; no other family changes. */
public abstract class Family {
    /** Whether this family rewrites nodes of this class. Families are asked in order, the first takes the node. */
    public abstract boolean takes(LogicalPlan node);

    /**
     * Rewrites a node and, through the rewriter, each of its children once and in order (operators are numbered on the way).
     * Throws Refused for what cannot be exact.
     */
    public abstract Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter);
}
