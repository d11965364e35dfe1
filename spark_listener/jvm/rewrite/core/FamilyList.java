package headwater.rewrite.core;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** The families that a rewriter asks: it knows that there are some, and not which. */
public interface FamilyList {
    /** The family that rewrites a node; null where none does. */
    Family of(LogicalPlan node);
}
