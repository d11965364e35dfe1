package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Inputs;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;

/** Common table expressions below the root, and what refers to any. */
public final class CteFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof WithCTE || node instanceof CTERelationRef;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        if (node instanceof CTERelationRef reference) {
            return rewriter.definitions.of(reference);
        }
        WithCTE with = (WithCTE) node;
        List<CTERelationDef> definitions = rewriter.definitions.rewrite(with, Inputs.size(with.plan()), rewriter);
        Rewritten plan = rewriter.rewrite(with.plan());
        rewriter.jump(operator + Inputs.size(node));
        return new Rewritten(with.copy(plan.plan, Scala.seq(definitions)), plan.hidden);
    }

    public boolean describes(LogicalPlan node) {
        return takes(node) || node instanceof CTERelationDef;
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.PASSES;
    }
}
