package headwater.rewrite.families;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.kept.Checkpoints;
import headwater.rewrite.kept.Materialized;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;

/** Checkpointed rows, each with the reference that was put behind its columns. */
public final class CheckpointFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return Checkpoints.knows(node);
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        LogicalRDD relation = (LogicalRDD) node;
        Capture made = Checkpoints.of(node);
        if (made == null || relation.output().size() != made.original.output().size()) {
            throw new Refused("Checkpoint", Checkpoints.reason(node));
        }
        rewriter.capture.reads(node, made);
        HiddenColumn row = HiddenColumn.row(operator);
        List<Attribute> output = Scala.list(relation.output());
        output.add(row.attribute);
        LogicalPlan whole = Nodes.rows(relation, output, relation.rdd());
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(row);
        return new Rewritten(whole, hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.KEPT;
    }

    /** A checkpoint without a capture is described as a leaf. */
    public boolean describes(LogicalPlan node) {
        return Checkpoints.of(node) != null;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        Materialized.describe(node, operator);
    }
}
