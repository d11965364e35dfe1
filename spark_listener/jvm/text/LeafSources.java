package headwater.text;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** The sources of a description: by their number an operator says what it reads. */
public interface LeafSources {
    /** The number of a leaf's source; null if the leaf reads nothing that has a name. */
    Integer of(LogicalPlan leaf);
}
