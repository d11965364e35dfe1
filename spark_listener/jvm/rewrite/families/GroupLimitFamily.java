package headwater.rewrite.families;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.keys.KeyHash;
import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import headwater.text.Behaviour;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Tail;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.plans.logical.WindowGroupLimit;

/**
 * The limit that Spark puts below a window of ranks when a filter above keeps the first ranks only. In the query as
 * written, a rank depends on all rows of its partition, so the rows are recorded below the limit, with the hash of the
 * partition.
 */
public final class GroupLimitFamily extends Family {
    private static final String NAME = "WindowGroupLimit";

    public boolean takes(LogicalPlan node) {
        return node instanceof WindowGroupLimit;
    }

    /**
     * Whether a window's input is limited so, and by the window's own partitions. Without partitions Spark takes a sort
     * and a plain limit.
     */
    static boolean limits(Window window, Capture capture) {
        if (window.child() instanceof WindowGroupLimit windowGroupLimit) {
            return Scala.list(windowGroupLimit.partitionSpec()).equals(Scala.list(window.partitionSpec()));
        }
        Sort sort = sortOf(window.child());
        if (sort == null || !window.partitionSpec().isEmpty() || !Scala.list(sort.order()).equals(Scala.list(window.orderSpec()))) {
            return false;
        }
        if (hasLimitBelowWindow(capture.written(), false)) {
            throw new Refused("Window", "whether the limit below it is the query's own cannot be told");
        }
        return true;
    }

    /** The sort below a limit, or null. */
    private static Sort sortOf(LogicalPlan limit) {
        if (!(limit instanceof GlobalLimit globalLimit) || !(globalLimit.child() instanceof LocalLimit localLimit)) {
            return null;
        }
        LogicalPlan below = localLimit.child();
        return below instanceof Sort sort ? sort : null;
    }

    /** The input of a sort, recorded if the sort belongs to a limit of ranks. */
    static LogicalPlan sorted(LogicalPlan sort, Rewritten child, Rewriter rewriter) {
        LogicalPlan limit = rewriter.limited();
        if (limit == null || sortOf(limit) != sort) {
            return child.plan;
        }
        return tapped(child, new ArrayList<>(), rewriter.boundary(SegmentSpec.GROUP, rewriter.limitOperator(), limit), rewriter);
    }

    private static boolean hasLimitBelowWindow(LogicalPlan node, boolean below) {
        if (below && (node instanceof GlobalLimit || node instanceof Tail)) {
            return true;
        }
        List<LogicalPlan> children = Scala.list(node.children());
        children.addAll(Scala.list(node.subqueries()));
        for (LogicalPlan child : children) {
            if (hasLimitBelowWindow(child, below || node instanceof Window)) {
                return true;
            }
        }
        return false;
    }

    /** By what the rows of a partition are found again that a limit dropped. */
    static Expression hash(List<Expression> keys, Capture capture) {
        return KeyHash.narrowed(KeyHash.of(Scala.seq(keys), NAME, capture));
    }

    /** Records what a limit of ranks gets: below, the rows `child` of the operator `node`. */
    private static LogicalPlan tapped(Rewritten child, List<Expression> keys, Boundary boundary, Rewriter rewriter) {
        List<Expression> values = new ArrayList<>();
        values.add(hash(keys, rewriter.capture));
        boundary.column("key", null, 0);
        Expression check = KeyHash.check(keys, NAME);
        if (check != null) {
            values.add(check);
            boundary.column("check", null, 0);
        }
        boundary.hidden(child, values);
        return Rewriter.tapped(child.plan, values, rewriter.capture.sink(boundary));
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        WindowGroupLimit limit = (WindowGroupLimit) node;
        Rewriter.check(node);
        if (rewriter.capture.passing.containsKey(node)) {
            return LateralLimit.passed(node, rewriter.rewrite(limit.child()));
        }
        if (rewriter.limited() != node) {
            throw new Refused(node.nodeName(), "it does not stand below the window that it was made for");
        }
        Boundary boundary = rewriter.boundary(SegmentSpec.GROUP, operator, node);
        Rewritten child = rewriter.rewrite(limit.child());
        LogicalPlan tapped = tapped(child, Scala.list(limit.partitionSpec()), boundary, rewriter);
        return new Rewritten(node.withNewChildren(Scala.seq(tapped)), child.hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.PASSES;
    }
}
