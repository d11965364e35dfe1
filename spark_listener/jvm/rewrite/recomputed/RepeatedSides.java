package headwater.rewrite.recomputed;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Inputs;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.keys.JoinKinds;
import headwater.rewrite.keys.SemiJoinKeys;
import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.scans.NumberedScan;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.sources.BaseRelation;

/**
 * Sides of joins that occur in a query more than once. Spark broadcasts or shuffles equal sides once. If only one of
 * them had references, because the records of the other are not needed, the sides would not be equal. So both have
 * references up to the join. Such a side is a scan with filters and projections above it.
 */
public final class RepeatedSides {
    private final Capture capture;
    private final List<LogicalPlan> followed = new ArrayList<>(); // sides that carry references
    private final Map<BaseRelation, LogicalPlan> listed = new IdentityHashMap<>(); // HadoopFsRelation: of groups that are found again

    public RepeatedSides(Capture capture) {
        this.capture = capture;
        visit(capture.original);
    }

    /** Whether a side of a join stands elsewhere too, with references. */
    boolean has(LogicalPlan side) {
        LogicalRelation scan = scanOf(side);
        for (int i = 0; scan != null && i < followed.size(); i++) {
            LogicalPlan other = followed.get(i);
            if (scan.relation().equals(scanOf(other).relation()) && other.canonicalized().equals(side.canonicalized())) {
                return true;
            }
        }
        return false;
    }

    /**
     * A plan that nobody follows, over the same columns; its operators keep their numbers. Its sides that stand
     * elsewhere too are as they are there.
     */
    public LogicalPlan unfollowed(LogicalPlan side, Rewriter rewriter) {
        boolean prunes = side.containsPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY()); // which requires an unchanged side
        if (prunes || (followed.isEmpty() && listed.isEmpty())) {
            return rewriter.unfollowed(side);
        }
        return side(side, rewriter);
    }

    private LogicalPlan side(LogicalPlan side, Rewriter rewriter) {
        if (has(side)) {
            return rewriter.rewrite(side).plan;
        }
        LogicalRelation scan = scanOf(side);
        if (scan == null || !listed.containsKey(scan.relation())) {
            return within(side, rewriter);
        }
        rewriter.unfollowed(side);
        return listed(side);
    }

    private LogicalPlan within(LogicalPlan node, Rewriter rewriter) {
        if (!Inputs.subqueries(node).isEmpty() || node.children().isEmpty()) {
            return rewriter.unfollowed(node);
        }
        rewriter.number();
        List<LogicalPlan> children = Scala.list(node.children());
        boolean changed = false;
        for (int i = 0; i < children.size(); i++) {
            LogicalPlan child = children.get(i);
            children.set(i, node instanceof Join ? side(child, rewriter) : within(child, rewriter));
            changed |= children.get(i) != child;
        }
        if (!changed) {
            return node;
        }
        LogicalPlan renewed = node.withNewChildren(Scala.seq(children));
        return renewed.output().size() == node.output().size() ? renewed : new HiddenProject(node.output(), renewed, node);
    }

    /** The unchanged side, except that the files that it reads are listed, as for a group that is found again. */
    private LogicalPlan listed(LogicalPlan node) {
        if (!(node instanceof LogicalRelation logicalRelation)) {
            return node.withNewChildren(Scala.seq(listed(node.children().apply(0))));
        }
        HadoopFsRelation relation = (HadoopFsRelation) logicalRelation.relation();
        return NumberedScan.listed(logicalRelation, relation, capture.source(relation, 0L));
    }

    /**
     * Collect the sides that are followed. The right sides of anti-joins and semi-joins, and plans below groups that
     * are found again, are not followed.
     */
    private void visit(LogicalPlan node) {
        Recomputable derivable = node.getClass() == Aggregate.class ? capture.derived.of((Aggregate) node) : null;
        if (derivable != null) {
            list(((Aggregate) node).child(), derivable.keyScans(), 0);
            return;
        }
        for (Expression subquery : Inputs.subqueries(node)) {
            visit(((ScalarSubquery) subquery).plan());
        }
        List<LogicalPlan> children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            LogicalPlan child = children.get(i);
            if (node instanceof Join join && i == 1 && !JoinKinds.putsOutBoth(join)) {
                visitRight(join);
                continue;
            }
            if (node instanceof Join && scanOf(child) != null) {
                followed.add(child);
            }
            visit(child);
        }
    }

    /**
     * The right side of a semi-join is recorded as a whole, without its hidden columns, or found again; of an anti-join
     * nobody follows it.
     */
    private void visitRight(Join join) {
        if (JoinKinds.isAbsence(join, capture)) {
            return;
        }
        SemiJoinKeys keys = capture.derived.open ? SemiJoinKeys.of(join, null) : null;
        if (keys != null && capture.derived.of(join, keys) != null) {
            list(join.right(), new HashSet<>(), 0);
        } else {
            visit(join.right());
        }
    }

    /**
     * Collect below a group that is found again, where the scans that identify its key have references. `place` is the
     * place of the node. The result is the next place.
     */
    private int list(LogicalPlan node, Set<Integer> keyScans, int place) {
        if (node instanceof LogicalRelation relation) {
            listed.put(relation.relation(), node);
        }
        int next = place + 1;
        for (LogicalPlan child : Scala.list(node.children())) {
            int after = list(child, keyScans, next);
            if (node instanceof Join && scanOf(child) != null && keyScans.contains(after - 1)) {
                followed.add(child);
            }
            next = after;
        }
        return next;
    }

    /** The scan that a plan of filters and projections reads; null where it is something else. */
    private static LogicalRelation scanOf(LogicalPlan node) {
        if (node instanceof LogicalRelation relation) {
            return relation.relation() instanceof HadoopFsRelation ? relation : null;
        }
        boolean passes = (node.getClass() == Filter.class || node.getClass() == Project.class) && Inputs.subqueries(node).isEmpty();
        return passes ? scanOf(node.children().apply(0)) : null;
    }
}
