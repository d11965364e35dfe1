package headwater.rewrite.recomputed;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.keys.ComparedValue;
import headwater.rewrite.keys.SemiJoinKeys;
import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.scans.NumberedScan;
import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * The plan below a group that is found again. Its scans are unchanged, but the files that they read are listed. Only
 * scans whose records identify the keys of the group have references. Recomputable knows these operators.
 */
public final class RecomputedInput {
    final Rewritten rows;
    final List<Integer> made = new ArrayList<>(); // the operators whose references the rows have

    private final Rewriter rewriter;
    private final int first; // operator of the input
    private final Set<Integer> numbered; // the scans that carry references, by their place below
    private boolean twin; // whether a side of a join is being rewritten that carries references elsewhere

    /** `numbered` as Recomputable.keyScans gives it, or all. */
    RecomputedInput(LogicalPlan input, Set<Integer> numbered, Rewriter rewriter) {
        this.rewriter = rewriter;
        this.first = rewriter.upcoming();
        this.numbered = numbered;
        this.rows = rewritten(input, made);
    }

    private RecomputedInput(Rewriter rewriter, LogicalPlan side) {
        this.rewriter = rewriter;
        this.first = rewriter.upcoming();
        this.numbered = new HashSet<>();
        this.rows = side(side, made);
    }

    /** The right side of a semi-join without a tap. A row of the left side identifies the key, and the key identifies the rows. */
    public static LogicalPlan matches(Join join, SemiJoinKeys keys, Boundary boundary, Recomputable derivable, Rewriter rewriter) {
        RecomputedInput right = new RecomputedInput(rewriter, join.right());
        derive(boundary, derivable.seconds, derivable.keys, keys.condition() == null ? new ArrayList<>() : keys.condition().right, right.made);
        return right.rows.plan;
    }

    /** Adds to `made` what the rows are made of: of Integer, the operators that have references. */
    private Rewritten rewritten(LogicalPlan node, List<Integer> made) {
        int operator = rewriter.number();
        if (node instanceof LogicalRelation relation) {
            made.add(operator);
            return scan(relation, operator);
        }
        if (node instanceof Join join) {
            return joined(join, operator, made);
        }
        Rewritten child = rewritten(node.children().apply(0), made);
        if (child.hidden.isEmpty() || !(node instanceof Project project)) {
            return new Rewritten(node.withNewChildren(Scala.seq(child.plan)), child.hidden);
        }
        List<NamedExpression> columns = Scala.list(project.projectList());
        columns.addAll(child.attributes());
        return new Rewritten(new HiddenProject(Scala.seq(columns), child.plan, node), child.hidden);
    }

    private Rewritten joined(Join join, int operator, List<Integer> made) {
        boolean semi = join.joinType() == org.apache.spark.sql.catalyst.plans.LeftSemi$.MODULE$;
        boolean both = !semi && join.joinType() != org.apache.spark.sql.catalyst.plans.LeftAnti$.MODULE$;
        List<Integer> ofLeft = new ArrayList<>();
        List<Integer> ofRight = new ArrayList<>();
        Rewritten left = side(join.left(), ofLeft);
        SemiJoinKeys keys = semi ? SemiJoinKeys.of(join, null) : null;
        Boundary matches = semi ? rewriter.boundary(SegmentSpec.MATCH, operator, Boundary.keyed(keys.right(), join.right())) : null;
        Rewritten right = side(join.right(), ofRight);
        List<LogicalPlan> children = new ArrayList<>();
        children.add(left.plan);
        children.add(right.plan);
        List<HiddenColumn> hidden = new ArrayList<>(left.hidden);
        if (both) {
            hidden.addAll(right.hidden);
            ofLeft.addAll(ofRight);
        }
        if (semi) {
            matched(join, keys, matches, operator, ofLeft, ofRight);
        }
        made.addAll(ofLeft);
        return wanted(join.withNewChildren(Scala.seq(children)), hidden, join);
    }

    private Rewritten side(LogicalPlan side, List<Integer> made) {
        twin = rewriter.capture.repeatedSides().has(side);
        Rewritten result = rewritten(side, made);
        twin = false;
        return result;
    }

    /** A join without the references that its sides carry because the same side stands elsewhere in the query. */
    private Rewritten wanted(LogicalPlan renewed, List<HiddenColumn> hidden, Join join) {
        List<HiddenColumn> kept = new ArrayList<>();
        List<Attribute> columns = Scala.list(join.output());
        for (HiddenColumn column : hidden) {
            if (isNumbered(column.operator)) {
                kept.add(column);
            }
        }
        if (kept.size() == hidden.size()) {
            return new Rewritten(renewed, hidden);
        }
        columns.addAll(new Rewritten(renewed, kept).attributes());
        return new Rewritten(new HiddenProject(Scala.seq(columns), renewed, join), kept);
    }

    /** The place of a column's scan among the operators below. */
    int placeOf(HiddenColumn column) {
        return column.operator - first;
    }

    private boolean isNumbered(int operator) {
        return numbered.contains(operator - first);
    }

    /** Connect a row of a semi-join with its matches by its key. If the condition has more than keys, a record represents the row. */
    private void matched(Join join, SemiJoinKeys keys, Boundary matches, int operator, List<Integer> ofLeft, List<Integer> ofRight) {
        Recomputable derivable = Recomputable.of(join, keys);
        derive(matches, derivable.seconds, derivable.keys, keys.condition() == null ? new ArrayList<>() : keys.condition().right, ofRight);
        matches.left = keys.leftKeys();
        if (keys.condition() != null) {
            Boundary rows = rewriter.boundary(SegmentSpec.SEMI, operator, join);
            rows.compared = keys.condition().compared;
            derive(rows, derivable.seconds, keys.leftKeys(), keys.condition().left, ofLeft);
            ofLeft.clear();
        }
        ofLeft.add(operator);
    }

    /** The columns are those that a boundary has whose rows are written. */
    private static void derive(Boundary boundary, double seconds, List<Expression> keys, List<ComparedValue> compared, List<Integer> made) {
        boundary.derive(seconds);
        boundary.keys = keys;
        boundary.values = new ArrayList<>();
        boundary.column("key", null, 0);
        for (ComparedValue value : compared) {
            boundary.column("value", "attr", value.placeholder().exprId().id());
            boundary.values.add(value.value());
        }
        if (!compared.isEmpty()) {
            boundary.column("nulls", null, 0);
        }
        for (int operator : made) {
            boundary.column("ref", "operator", operator);
        }
    }

    private Rewritten scan(LogicalRelation scan, int operator) {
        if (twin || isNumbered(operator)) {
            return rewriter.capture.families.of(scan).rewrite(scan, operator, rewriter);
        }
        HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
        return new Rewritten(NumberedScan.listed(scan, relation, rewriter.capture.source(relation, 0L)), new ArrayList<>());
    }
}
