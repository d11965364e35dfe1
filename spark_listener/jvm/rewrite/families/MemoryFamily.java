package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.SQLExecutionRDD;

/**
 * DataFrames of the program's own data (createDataFrame of a list or of an RDD over one): a record is the n-th row of
 * its partition. An RDD that was made of files, of another DataFrame or of a checkpoint has records further up, which
 * are not known: it is refused.
 */
public final class MemoryFamily extends Family {
    private static final int MOST = 1000; // RDDs that are looked at

    public boolean takes(LogicalPlan node) {
        return node instanceof LogicalRDD;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        LogicalRDD relation = (LogicalRDD) node;
        if (relation.isStreaming()) {
            throw new Refused("LogicalRDD", "streams are not captured yet");
        }
        check(relation.rdd(), new IdentityHashMap<>());
        rewriter.capture.inMemory(relation, "rdd " + relation.rdd().id(), relation.rdd().getNumPartitions());
        HiddenColumn row = HiddenColumn.row(operator);
        List<Attribute> output = Scala.list(relation.output());
        output.add(row.attribute);
        LogicalPlan numbered = Nodes.rows(relation, output, rewriter.capture.numbered(relation.rdd()));
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(row);
        return new Rewritten(numbered, hidden);
    }

    private static void check(RDD<?> rdd, Map<RDD<?>, RDD<?>> seen) {
        if (seen.put(rdd, rdd) != null) {
            return;
        }
        if (rdd instanceof SQLExecutionRDD || seen.size() > MOST) {
            throw new Refused("LogicalRDD", "records are not followed through an RDD of a DataFrame");
        }
        List<Dependency<?>> dependencies = Scala.list(rdd.dependencies());
        if (dependencies.isEmpty() && !(rdd instanceof ParallelCollectionRDD<?>)) {
            throw new Refused("LogicalRDD", "records are not followed through an RDD that reads " + rdd.getClass().getSimpleName());
        }
        for (Dependency<?> dependency : dependencies) {
            check(dependency.rdd(), seen);
        }
    }
}
