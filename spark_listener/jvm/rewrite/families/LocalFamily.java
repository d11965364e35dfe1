package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenLocalRelation;
import headwater.shim.Scala;
import headwater.source.LocalRows;
import headwater.text.Behaviour;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Relations whose rows are in the plan (VALUES, createDataFrame of Arrow data). Each row has its ordinal in the
 * relation as written.
 */
public final class LocalFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof LocalRelation localRelation && !localRelation.data().isEmpty();
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        LocalRelation relation = (LocalRelation) node;
        if (relation.isStreaming()) {
            throw new Refused("LocalRelation", "streams are not captured yet");
        }
        LocalRows.Kept kept = rewriter.capture.localRows().kept(relation);
        if (kept == null) {
            throw new Refused("LocalRelation", "which of its rows the optimizer kept cannot be told");
        }
        rewriter.capture.inMemory(relation, "relation " + kept.relation(), 0);
        List<InternalRow> rows = Scala.list(relation.data());
        List<JoinedRow> numbered = new ArrayList<>();
        for (int i = 0; i < rows.size(); i++) {
            InternalRow reference = new GenericInternalRow(new Object[] {kept.ordinals()[i]});
            numbered.add(new JoinedRow(rows.get(i), reference));
        }
        HiddenColumn row = HiddenColumn.row(operator);
        List<Attribute> output = Scala.list(relation.output());
        output.add(row.attribute);
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(row);
        LogicalPlan renewed = new HiddenLocalRelation(Scala.seq(output), Scala.seq(numbered), false, relation.stream(), relation);
        return new Rewritten(renewed, hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.CONSTANT;
    }
}
