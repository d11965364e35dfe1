package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.subqueries.DynamicPruning;
import headwater.rewrite.subqueries.ExistenceFilter;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Sort;

/** Operators of one child whose rows are rows of the child, with all its columns. */
public final class PassFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof Filter || node instanceof Sort || node instanceof Repartition || node instanceof RepartitionByExpression
            || node instanceof RebalancePartitions;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.check(node);
        Rewritten child = rewriter.rewrite(node.children().apply(0));
        if (node instanceof Filter filter) {
            Filter renewed = new Filter(DynamicPruning.rewrite(filter.condition(), rewriter), child.plan);
            return ExistenceFilter.marked(filter, new Rewritten(renewed, child.hidden), rewriter);
        }
        if (RoundRobin.deals(node) && !child.hidden.isEmpty()) {
            return new Rewritten(RoundRobin.rewrite((Repartition) node, child), child.hidden);
        }
        LogicalPlan renewed = node.withNewChildren(Scala.seq(GroupLimitFamily.sorted(node, child, rewriter)));
        return new Rewritten(renewed, child.hidden);
    }

    public String behaviour(LogicalPlan node) {
        return node instanceof Filter ? Behaviour.FILTER : Behaviour.PASSES;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        if (node instanceof Filter filter) {
            operator.put("reads", OperatorText.reads(node));
            operator.put("condition", expressions.outermost(filter.condition()));
            return;
        }
        if (node instanceof Repartition || node instanceof RepartitionByExpression) {
            operator.put("op", "Repartition");
        }
        OperatorText.plain(node, operator, sources);
    }
}
