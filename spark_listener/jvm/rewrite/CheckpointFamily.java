package headwater.rewrite;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;

/** Checkpointed rows, each with the reference that was put behind its columns. */
final class CheckpointFamily extends Family {
    boolean takes(LogicalPlan node) {
        return Checkpoints.knows(node);
    }

    Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        LogicalRDD relation = (LogicalRDD) node;
        Capture made = Checkpoints.of(node);
        if (made == null || relation.output().size() != made.original.output().size()) {
            throw new Refused("Checkpoint", Checkpoints.reason(node));
        }
        rewriter.capture.reads(node, made);
        Attribute column = new AttributeReference(
            "_headwater_row", DataTypes.LongType, false, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
        List output = Scala.list(relation.output());
        output.add(column);
        SparkSession session = (SparkSession) relation.otherCopyArgs().apply(0); // it has no other way out
        LogicalPlan whole = relation.copy(
            Scala.seq(output), relation.rdd(), relation.outputPartitioning(), relation.outputOrdering(), relation.isStreaming(), relation.stream(),
            session, Scala.some(relation.stats()), Scala.none());
        List hidden = new ArrayList();
        hidden.add(new Hidden(column, operator));
        return new Rewritten(whole, hidden);
    }
}
