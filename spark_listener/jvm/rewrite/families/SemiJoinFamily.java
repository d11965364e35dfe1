package headwater.rewrite.families;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.keys.ComparedValue;
import headwater.rewrite.keys.JoinKinds;
import headwater.rewrite.keys.SemiJoinKeys;
import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.recomputed.Recomputable;
import headwater.rewrite.recomputed.RecomputedInput;
import headwater.shim.Scala;
import headwater.tap.RowReference;
import headwater.tap.SegmentSpec;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.ExistenceJoin;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataTypes;

/**
 * Semi-joins and existence joins (IN, EXISTS, INTERSECT). The rows of the right side are recorded with the hash of
 * their keys. A row of the left side has the hash of its own keys, and so refers to all its matches. If a further
 * condition exists, its values are recorded on both sides, for the left side in a boundary above the join, so that a
 * trace can evaluate it. A derived boundary writes nothing for the right side, because a trace finds the records by
 * their key.
 */
public final class SemiJoinFamily extends Family {
    public boolean takes(LogicalPlan node) {
        if (!(node instanceof Join join)) {
            return false;
        }
        JoinType type = join.joinType();
        return type == org.apache.spark.sql.catalyst.plans.LeftSemi$.MODULE$ || type instanceof ExistenceJoin;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Join join = (Join) node;
        if (JoinKinds.isAbsence(join, rewriter.capture)) {
            return AntiJoinFamily.leftOnly(join, rewriter);
        }
        Rewriter.check(node);
        SemiJoinKeys keys = SemiJoinKeys.of(join, rewriter.capture);
        if (join.condition().isEmpty() && join.right() instanceof LocalLimit) {
            String reason = "the optimizer lets this EXISTS read one row of each partition; the other rows that are there are not listed";
            rewriter.capture.problem("Join " + SemiJoinKeys.how(join.joinType()), reason, "missing");
        }
        Rewritten left = rewriter.rewriteStoppable(join.left());
        Boundary matches = rewriter.boundary(SegmentSpec.MATCH, operator, Boundary.keyed(keys.right(), join.right()));
        Recomputable derivable = rewriter.capture.derived.of(join, keys);
        List<LogicalPlan> children = new ArrayList<>();
        children.add(left.plan);
        children.add(derivable == null ? tapped(keys, join.right(), matches, rewriter) : RecomputedInput.matches(join, keys, matches, derivable, rewriter));
        Join renewed = (Join) join.withNewChildren(Scala.seq(children));

        List<NamedExpression> columns = Scala.list(renewed.output());
        List<HiddenColumn> hidden = new ArrayList<>();
        Alias reference;
        Expression key = keys.left();
        if (join.joinType() instanceof ExistenceJoin existenceJoin) { // without a match a row refers to none, nor to one whose key has the same hash
            key = new If(existenceJoin.exists(), key, new Literal(null, DataTypes.LongType));
        }
        if (keys.condition() == null) {
            reference = Rewriter.alias(key, "match");
            hidden.addAll(left.hidden);
        } else {
            Boundary kept = rewriter.boundary(SegmentSpec.SEMI, operator, node);
            kept.compared = keys.condition().compared;
            List<Expression> values = values(key, null, keys.condition().left, left, kept);
            reference = Rewriter.alias(new RowReference(Scala.seq(values), rewriter.capture.sink(kept)), "semi");
            columns.removeAll(left.attributes());
        }
        if (join.joinType() instanceof ExistenceJoin existenceJoin) {
            rewriter.existences.put(operator, existenceJoin.exists());
        }
        columns.add(reference);
        hidden.add(new HiddenColumn(reference.toAttribute(), operator));
        return new Rewritten(new HiddenProject(Scala.seq(columns), renewed, node), hidden);
    }

    /** The right side with its tap, and without its hidden columns: nobody above needs them. */
    private static LogicalPlan tapped(SemiJoinKeys keys, LogicalPlan original, Boundary boundary, Rewriter rewriter) {
        Rewritten right = rewriter.rewriteStoppable(original);
        List<Expression> values = values(keys.right(), keys.check(), keys.condition() == null ? new ArrayList<>() : keys.condition().right, right, boundary);
        return new HiddenProject(original.output(), Rewriter.tapped(right.plan, values, rewriter.capture.sink(boundary)), original);
    }

    private static List<Expression> values(Expression key, Expression check, List<ComparedValue> compared, Rewritten side, Boundary boundary) {
        List<Expression> result = new ArrayList<>();
        result.add(key);
        boundary.column("key", null, 0);
        if (check != null) {
            result.add(check);
            boundary.column("check", null, 0);
        }
        for (ComparedValue value : compared) {
            result.add(value.encoded());
            boundary.column("value", "attr", value.placeholder().exprId().id());
        }
        if (!compared.isEmpty()) {
            result.add(ComparedValue.nulls(compared));
            boundary.column("nulls", null, 0L);
        }
        boundary.hidden(side, result);
        return result;
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.MATCH;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        JoinText.describe((Join) node, operator, expressions);
    }
}
