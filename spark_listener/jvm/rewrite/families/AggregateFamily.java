package headwater.rewrite.families;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.ChosenRows;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.keys.KeyHash;
import headwater.rewrite.nodes.HiddenAggregate;
import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.recomputed.Recomputable;
import headwater.rewrite.recomputed.RecomputedGroups;
import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SessionWindow$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Aggregates. In active mode each input row is tapped with its group's hash, and the hash is the reference of the group
 * above. RecomputedGroups handles groups that can be found again. No values are collected.
 */
public final class AggregateFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node.getClass() == Aggregate.class;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Aggregate aggregate = (Aggregate) node;
        Rewriter.check(node);
        boolean sessions = hasSessions(aggregate);
        if (OuterValues.are(aggregate, rewriter.capture)) {
            rewriter.unfollowed(aggregate.child());
            return new Rewritten(aggregate, new ArrayList<>());
        }
        Recomputable derivable = sessions ? null : rewriter.capture.derived.of(aggregate);
        if (derivable != null) {
            return new RecomputedGroups(aggregate, operator, rewriter, derivable).rewrite();
        }
        if (sessions) {
            rewriter.capture.problem("Aggregate", "which rows of its other keys a session window was put together of is not recorded; all are given", "superset");
        }
        List<Expression> keys = known(aggregate);
        Expression hash = KeyHash.narrowed(KeyHash.of(Scala.seq(keys), "Aggregate", rewriter.capture));
        Expression check = KeyHash.check(keys, "Aggregate");
        Boundary boundary = rewriter.boundary(SegmentSpec.GROUP, operator, Boundary.keyed(hash, aggregate.child()));
        Rewritten child = rewriter.rewrite(aggregate.child());
        List<Expression> values = new ArrayList<>();
        values.add(hash);
        boundary.column("key", null, 0);
        boundary.hidden(child, values);
        LogicalPlan tapped = Rewriter.tapped(child.plan, values, rewriter.capture.sink(boundary));
        ChosenRows choices = sessions ? null : ChosenRows.of(aggregate);
        List<ChosenRows.Chosen> chosen = choices == null ? new ArrayList<>() : choices.columns(child.hidden);
        // the aggregate has no other use for hidden columns, but would sort or compute them
        List<Attribute> read = Scala.list(aggregate.child().output());
        if (!chosen.isEmpty()) {
            read.addAll(child.attributes());
        }
        LogicalPlan visible = new HiddenProject(Scala.seq(read), tapped, aggregate.child());
        Alias reference = Rewriter.alias(hash, "group");
        List<NamedExpression> outputs = Scala.list(aggregate.aggregateExpressions());
        outputs.add(reference);
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(new HiddenColumn(reference.toAttribute(), operator));
        ChosenRows.add(chosen, outputs);
        Alias second = check == null ? null : Rewriter.alias(check, "check");
        if (second != null) {
            outputs.add(second);
        }
        LogicalPlan renewed = new HiddenAggregate(
            aggregate.groupingExpressions(), Scala.seq(outputs), visible, aggregate.hint(), aggregate);
        if (!chosen.isEmpty()) {
            renewed = choices.tapped(renewed, operator, reference, chosen, rewriter);
        }
        if (second != null) {
            renewed = checked(aggregate, operator, renewed, reference, second, rewriter);
        }
        if (second == null && chosen.isEmpty()) {
            return new Rewritten(renewed, hidden);
        }
        List<Attribute> columns = Scala.list(aggregate.output());
        columns.add(reference.toAttribute());
        return new Rewritten(new HiddenProject(Scala.seq(columns), renewed, aggregate), hidden);
    }

    /** The keys that a row has below as above: sessions that meet become one while the query runs. */
    private static List<Expression> known(Aggregate aggregate) {
        List<Expression> result = new ArrayList<>();
        for (Expression key : Scala.list(aggregate.groupingExpressions())) {
            if (!isSession(key)) {
                result.add(key);
            }
        }
        return result;
    }

    private static boolean isSession(Object key) {
        return key instanceof NamedExpression named && named.metadata().contains(SessionWindow$.MODULE$.marker());
    }

    private static boolean hasSessions(Aggregate aggregate) {
        return known(aggregate).size() < aggregate.groupingExpressions().size();
    }

    /** Record the hash of each group once, with a second hash, so that a trace sees a collision of the first. */
    private static LogicalPlan checked(
            Aggregate aggregate, int operator, LogicalPlan renewed, Alias reference, Alias second, Rewriter rewriter) {
        Boundary boundary = rewriter.boundary(SegmentSpec.CHECK, operator, Boundary.keyed(reference.child(), aggregate.child()));
        boundary.column("key", null, 0);
        boundary.column("check", null, 0);
        List<Expression> values = new ArrayList<>();
        values.add(reference.toAttribute());
        values.add(second.toAttribute());
        return Rewriter.tapped(renewed, values, rewriter.capture.sink(boundary));
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.GROUP;
    }

    public boolean describes(LogicalPlan node) {
        return node instanceof Aggregate;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        Aggregate aggregate = (Aggregate) node;
        operator.put("op", "Aggregate");
        expressions.enter(aggregate);
        operator.put("keys", OperatorText.all(Scala.list(aggregate.groupingExpressions()), expressions));
        List<Map<String, Object>> defines = OperatorText.defined(Scala.list(aggregate.aggregateExpressions()), expressions);
        defines.addAll(expressions.distinctRows(aggregate));
        operator.put("defines", defines);
        if (hasSessions(aggregate)) {
            operator.put("whole", true); // the session's rows are not recorded separately, so all are given
        }
    }
}
