package headwater.rewrite.recomputed;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.ChosenRows;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Inputs;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.keys.ComparedValue;
import headwater.rewrite.keys.KeyHash;
import headwater.rewrite.nodes.HiddenAggregate;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete$;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Aggregates whose groups are found again, so that no association of their input is written (docs: capture format,
 * "Derived boundaries"). A trace gets the key of a group from the first of these that exists. First, the reference to
 * the group, if the key is one whole number or there is no key. Second, the group's smallest record, if there is one
 * scan. Third, the values of the key, written once for each group. Values that do not fit into 64 bits are replaced by
 * the smallest record of each scan that they come from.
 */
public final class RecomputedGroups {
    private final Aggregate aggregate;
    private final int operator;
    private final Rewriter rewriter;
    private final Recomputable derivable;
    private final ChosenRows choices; // null: no row of a group is chosen

    public RecomputedGroups(Aggregate aggregate, int operator, Rewriter rewriter, Recomputable derivable) {
        this.aggregate = aggregate;
        this.operator = operator;
        this.rewriter = rewriter;
        this.derivable = derivable;
        this.choices = ChosenRows.of(aggregate);
    }

    public Rewritten rewrite() {
        List<Expression> keys = derivable.keys;
        if (derivable.isKeyInReference()) {
            return toldByReference();
        }
        if (!derivable.joined) {
            return toldByRecord();
        }
        return withKeyValues(KeyHash.check(keys, "Aggregate"));
    }

    private Rewritten toldByReference() {
        Boundary boundary = boundary();
        RecomputedInput input = input(boundary, choices == null ? new HashSet<>() : all());
        boundary.derived.put("told", true);
        Alias reference = Rewriter.alias(hash(), "group");
        List<NamedExpression> outputs = Scala.list(aggregate.aggregateExpressions());
        outputs.add(reference);
        return referred(outputs, input, reference);
    }

    private Set<Integer> all() {
        Set<Integer> all = new HashSet<>();
        for (int i = 0; i < Inputs.size(aggregate.child()); i++) {
            all.add(i);
        }
        return all;
    }

    private Rewritten toldByRecord() {
        Boundary boundary = boundary();
        RecomputedInput input = input(boundary, all());
        Alias reference = Rewriter.alias(least(input.rows.hidden.get(0)), "group");
        List<NamedExpression> outputs = Scala.list(aggregate.aggregateExpressions());
        outputs.add(reference);
        return referred(outputs, input, reference);
    }

    private Rewritten withKeyValues(Expression check) {
        List<ComparedValue> values = new ArrayList<>();
        List<Integer> places = new ArrayList<>(); // which keys they are
        for (int i = 0; i < derivable.keys.size(); i++) {
            Expression key = derivable.keys.get(i);
            if (ComparedValue.fits(key.dataType())) {
                values.add(new ComparedValue(null, key));
                places.add(i);
            }
        }
        Boundary boundary = boundary();
        Boundary recorder = rewriter.boundary(SegmentSpec.CHECK, operator, Boundary.keyed(hash(), aggregate.child()));
        RecomputedInput input = input(boundary, choices == null ? derivable.keyScans() : all());
        List<NamedExpression> outputs = Scala.list(aggregate.aggregateExpressions());
        List<Expression> recorded = new ArrayList<>();
        Alias reference = add(hash(), "group", outputs, recorded);
        recorder.column("key", null, 0);
        add(check, "check", outputs, recorded);
        recorder.column("check", null, 0);
        for (int i = 0; i < values.size(); i++) {
            add(values.get(i).encoded(), "value", outputs, recorded);
            recorder.column("value", "attr", places.get(i).longValue());
        }
        if (!values.isEmpty()) {
            add(ComparedValue.nulls(values), "nulls", outputs, recorded);
            recorder.column("nulls", null, 0);
        }
        for (int i = 0; i < input.rows.hidden.size(); i++) {
            HiddenColumn record = input.rows.hidden.get(i);
            if (!derivable.keyScans().contains(input.placeOf(record))) {
                continue;
            }
            add(least(record), "record", outputs, recorded);
            recorder.column("ref", "operator", record.operator);
        }
        List<ChosenRows.Chosen> chosen = chosen(input);
        ChosenRows.add(chosen, outputs);
        LogicalPlan tapped = Rewriter.tapped(renewed(outputs, input.rows.plan), recorded, rewriter.capture.sink(recorder));
        if (!chosen.isEmpty()) {
            tapped = choices.tapped(tapped, operator, reference, chosen, rewriter);
        }
        return visible(tapped, reference);
    }

    private List<ChosenRows.Chosen> chosen(RecomputedInput input) {
        return choices == null ? new ArrayList<>() : choices.columns(input.rows.hidden);
    }

    private static Alias add(Expression expression, String name, List<NamedExpression> outputs, List<Expression> recorded) {
        Alias column = Rewriter.alias(expression, name);
        outputs.add(column);
        recorded.add(column.toAttribute());
        return column;
    }

    private Boundary boundary() {
        Boundary boundary = rewriter.boundary(SegmentSpec.GROUP, operator, aggregate);
        boundary.derive(derivable.seconds);
        return boundary;
    }

    private RecomputedInput input(Boundary boundary, Set<Integer> numbered) {
        RecomputedInput input = new RecomputedInput(aggregate.child(), numbered, rewriter);
        boundary.column("key", null, 0);
        for (int operator : input.made) {
            boundary.column("ref", "operator", operator);
        }
        return input;
    }

    private Expression hash() {
        return KeyHash.narrowed(KeyHash.of(aggregate.groupingExpressions(), "Aggregate", rewriter.capture));
    }

    private static Expression least(HiddenColumn record) {
        return new AggregateExpression(
            new Min(record.attribute), Complete$.MODULE$, false, Scala.none(), NamedExpression$.MODULE$.newExprId());
    }

    private LogicalPlan renewed(List<NamedExpression> outputs, LogicalPlan input) {
        return new HiddenAggregate(aggregate.groupingExpressions(), Scala.seq(outputs), input, aggregate.hint(), aggregate);
    }

    private Rewritten referred(List<NamedExpression> outputs, RecomputedInput input, Alias reference) {
        List<ChosenRows.Chosen> chosen = chosen(input);
        ChosenRows.add(chosen, outputs);
        LogicalPlan renewed = renewed(outputs, input.rows.plan);
        if (chosen.isEmpty()) {
            return referred(renewed, reference);
        }
        return visible(choices.tapped(renewed, operator, reference, chosen, rewriter), reference);
    }

    private Rewritten visible(LogicalPlan tapped, Alias reference) {
        List<Attribute> columns = Scala.list(aggregate.output());
        columns.add(reference.toAttribute());
        return referred(new HiddenProject(Scala.seq(columns), tapped, aggregate), reference);
    }

    private Rewritten referred(LogicalPlan plan, Alias reference) {
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(new HiddenColumn(reference.toAttribute(), operator));
        return new Rewritten(plan, hidden);
    }
}
