package headwater.rewrite.core;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** The families that a rewriter uses, without a dependency on any of them. */
public interface FamilyList {
    /** The family that rewrites a node; null where none does. */
    Family of(LogicalPlan node);
}
