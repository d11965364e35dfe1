package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.keys.JoinKinds;
import headwater.rewrite.keys.SemiJoinKeys;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Joins that put out the columns of both sides: the hidden ones with them, null where a side is missing. */
public final class JoinFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof Join; // the families of semi-joins and anti-joins are asked before
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Join join = (Join) node;
        Rewriter.check(node);
        if (!JoinKinds.putsOutBoth(join)) {
            throw new Refused("Join " + SemiJoinKeys.how(join.joinType()), "records are not followed through this kind of join yet");
        }
        Rewritten left = rewriter.rewriteStoppable(join.left());
        Rewritten right = rewriter.rewriteStoppable(join.right());
        List<HiddenColumn> hidden = new ArrayList<>(left.hidden);
        hidden.addAll(right.hidden);
        List<LogicalPlan> children = new ArrayList<>();
        children.add(left.plan);
        children.add(right.plan);
        return new Rewritten(join.withNewChildren(Scala.seq(children)), hidden);
    }

    public String behaviour(LogicalPlan node) {
        return JoinKinds.putsOutBoth((Join) node) ? Behaviour.JOIN : null;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        JoinText.describe((Join) node, operator, expressions);
    }
}
