package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.FamilyList;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** The families of operators. A new operator is a new family in this list; no other family changes. */
public final class Families implements FamilyList {
    private static final Family[] ALL = new Family[] {
        new KeyedFamily(), new ScanFamily(), new PythonSourceFamily(), new FileScanFamily(), new TableScanFamily(), new ProjectFamily(), new PassFamily(), new SemiJoinFamily(), new AntiJoinFamily(), new JoinFamily(), new AggregateFamily(),
        new WindowFamily(), new PythonFamily(), new UnionFamily(), new LimitFamily(), new GroupLimitFamily(), new TaskFunctionFamily(),
        new LocalFamily(), new CheckpointFamily(), new RecordedFamily(), new MemoryFamily(), new GroupFunctionFamily(), new ExpandFamily(), new GenerateFamily(), new LeafFamily(), new CteFamily(),
        new CacheFamily(), new MergeFamily(), new RecursionFamily(), new ObservedFamily(),
    };

    public Family of(LogicalPlan node) {
        for (Family family : ALL) {
            if (family.takes(node)) {
                return family;
            }
        }
        return null;
    }

    /** The family that describes a node; null where none does. Every plan is described, also one that is not rewritten. */
    public static Family describing(LogicalPlan node) {
        for (Family family : ALL) {
            if (family.describes(node)) {
                return family;
            }
        }
        return null;
    }
}
