package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Scala;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import scala.collection.immutable.Seq;

/** What MERGE makes of the joined rows of a table and its source: described, for lineage by column. Its records are not followed yet. */
public final class MergeFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return false;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        throw new Refused(node.nodeName(), "records are not followed through this operator yet");
    }

    public boolean describes(LogicalPlan node) {
        return node instanceof MergeRows;
    }

    /** Each column: the function `merge` over what each clause makes of it (Spark adds one that carries rows over). */
    public void describe(LogicalPlan node, Map operator, ExpressionText expressions, LeafSources sources) {
        MergeRows merge = (MergeRows) node;
        List clauses = new ArrayList(Scala.list(merge.matchedInstructions()));
        clauses.addAll(Scala.list(merge.notMatchedInstructions()));
        clauses.addAll(Scala.list(merge.notMatchedBySourceInstructions()));
        List made = new ArrayList(); // of Seq: one a row that a clause makes
        for (int i = 0; i < clauses.size(); i++) {
            made.addAll(Scala.list(((MergeRows.Instruction) clauses.get(i)).outputs()));
        }
        List output = Scala.list(node.output());
        List defines = new ArrayList();
        for (int i = 0; i < output.size(); i++) {
            List arguments = new ArrayList();
            for (int j = 0; j < made.size(); j++) {
                arguments.add(expressions.of((Expression) ((Seq) made.get(j)).apply(i)));
            }
            defines.add(OperatorText.choice("merge", (Attribute) output.get(i), arguments));
        }
        operator.put("defines", defines);
    }
}
