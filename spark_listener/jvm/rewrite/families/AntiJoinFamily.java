package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Anti-joins (NOT EXISTS, NOT IN, EXCEPT): a row is there because nothing matches it. Only the left side has records to follow. */
public final class AntiJoinFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof Join join && join.joinType() == org.apache.spark.sql.catalyst.plans.LeftAnti$.MODULE$;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        return leftOnly((Join) node, rewriter);
    }

    static Rewritten leftOnly(Join join, Rewriter rewriter) {
        Rewriter.check(join);
        Rewritten left = rewriter.rewriteStoppable(join.left());
        List<LogicalPlan> children = new ArrayList<>();
        children.add(left.plan);
        children.add(rewriter.capture.repeatedSides().unfollowed(join.right(), rewriter));
        return new Rewritten(join.withNewChildren(Scala.seq(children)), left.hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.ABSENCE;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        JoinText.describe((Join) node, operator, expressions);
    }
}
