package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Tail;
import org.apache.spark.sql.catalyst.plans.logical.Window;

/**
 * Operators that pass some rows of their child: LIMIT, OFFSET, tail, sample. The next tap above records these rows, and
 * nothing computes them again. A limit may stop reading early. That does no harm to groups, because an unfinished group
 * gives no row.
 */
public final class LimitFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return limits(node) || node instanceof Offset || node instanceof Sample;
    }

    private static boolean limits(LogicalPlan node) {
        return node instanceof GlobalLimit || node instanceof LocalLimit || node instanceof Tail;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.check(node);
        LogicalPlan below = node.children().apply(0);
        boolean stops = limits(node) && stopsEarly(below);
        Rewritten child = stops ? rewriter.rewriteStoppable(below) : rewriter.rewrite(below);
        return new Rewritten(node.withNewChildren(Scala.seq(child.plan)), child.hidden);
    }

    /** Whether a window below may be left with rows unread: nothing between takes in all of its input before it gives its first row. */
    private static boolean stopsEarly(LogicalPlan node) {
        if (node instanceof Window) {
            return true;
        }
        boolean shuffles = node instanceof RepartitionOperation repartitionOperation && repartitionOperation.shuffle();
        if (node instanceof Sort || shuffles || node instanceof RebalancePartitions) {
            return false;
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            if (stopsEarly(child)) {
                return true;
            }
        }
        return false;
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.PASSES;
    }
}
