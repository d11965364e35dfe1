package headwater.rewrite.core;

import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete$;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.expressions.aggregate.Last;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataTypes;

/**
 * The rows that `first`, `last` and similar functions take from each group (docs: capture format, kind `chosen`). The
 * engine is free to choose, so the choice is recorded. The same function over the references sees the same rows in the
 * same order, and takes the reference of the same row.
 */
public final class ChosenRows {
    private static final int MOST = 64; // columns that are added to an aggregate
    private static final long NO_RECORD = Long.MIN_VALUE; // as a tap records null

    private final List<AggregateExpression> ways = new ArrayList<>(); // the ways to choose a row, each once
    private final List<List<Number>> takes = new ArrayList<>(); // the id of an output's attribute, and a way of choosing
    private final Aggregate aggregate;

    private ChosenRows(Aggregate aggregate) {
        this.aggregate = aggregate;
    }

    /** The choices of an aggregate; null: it has none that can be recorded. A stream's state has the program's columns alone. */
    public static ChosenRows of(Aggregate aggregate) {
        if (aggregate.isStreaming()) {
            return null;
        }
        ChosenRows result = new ChosenRows(aggregate);
        for (NamedExpression output : Scala.list(aggregate.aggregateExpressions())) {
            List<AggregateExpression> choices = new ArrayList<>();
            if (collect((Expression) output, choices)) {
                result.take(output.exprId().id(), choices);
            }
        }
        return result.ways.isEmpty() ? null : result;
    }

    /** Adds the functions that choose; false: one of them cannot be repeated. */
    private static boolean collect(Expression expression, List<AggregateExpression> choices) {
        if (expression instanceof AggregateExpression function) {
            if (!(function.aggregateFunction() instanceof First) && !(function.aggregateFunction() instanceof Last)) {
                return true;
            }
            choices.add(function);
            return !function.isDistinct() && function.deterministic() && (function.filter().isEmpty() || function.filter().get().deterministic());
        }
        List<Expression> children = Scala.list(expression.children());
        boolean known = true;
        for (Expression child : children) {
            known &= collect(child, choices);
        }
        return known;
    }

    private void take(long output, List<AggregateExpression> choices) {
        for (AggregateExpression choice : choices) {
            int way = 0;
            while (way < ways.size() && !isSameWay(choice, ways.get(way))) {
                way++;
            }
            if (way == ways.size()) {
                ways.add(choice);
            }
            List<Number> pair = new ArrayList<>();
            pair.add(output);
            pair.add(way);
            takes.add(pair);
        }
    }

    private static boolean isSameWay(AggregateExpression one, AggregateExpression other) {
        if (one.aggregateFunction().getClass() != other.aggregateFunction().getClass() || passesNulls(one) != passesNulls(other)
            || one.filter().isDefined() != other.filter().isDefined()) {
            return false;
        }
        boolean same = one.filter().isEmpty() || one.filter().get().semanticEquals(other.filter().get());
        return same && (!passesNulls(one) || value(one).semanticEquals(value(other)));
    }

    private static boolean passesNulls(AggregateExpression choice) {
        AggregateFunction function = choice.aggregateFunction();
        return function instanceof First first ? first.ignoreNulls() : ((Last) function).ignoreNulls();
    }

    private static Expression value(AggregateExpression choice) {
        return choice.aggregateFunction().children().apply(0);
    }

    /** The references of the rows that an aggregate reads, for its outputs. Empty if there are none or too many. */
    public List<ChosenRows.Chosen> columns(List<HiddenColumn> hidden) {
        List<ChosenRows.Chosen> result = new ArrayList<>();
        for (int way = 0; way < ways.size(); way++) {
            for (HiddenColumn column : hidden) {
                if (column.role.equals(HiddenColumn.REF)) {
                    result.add(new Chosen(Rewriter.alias(chosen(ways.get(way), column), "chosen"), column.operator, way));
                }
            }
        }
        return result.size() > MOST ? new ArrayList<>() : result;
    }

    private static Expression chosen(AggregateExpression choice, HiddenColumn column) {
        List<Expression> values = new ArrayList<>();
        values.add(column.attribute);
        values.add(new Literal(NO_RECORD, DataTypes.LongType));
        Expression reference = new Coalesce(Scala.seq(values)); // of a row that an outer join gave no record there
        boolean passes = passesNulls(choice);
        if (passes) {
            reference = new If(new IsNull(value(choice)), new Literal(null, DataTypes.LongType), reference);
        }
        AggregateFunction function = choice.aggregateFunction() instanceof First
            ? (AggregateFunction) new First(reference, passes) : (AggregateFunction) new Last(reference, passes);
        return new AggregateExpression(function, Complete$.MODULE$, false, choice.filter(), NamedExpression$.MODULE$.newExprId());
    }

    /** The renewed aggregate, which puts out these columns and a reference to its group, with a tap for them. */
    public LogicalPlan tapped(LogicalPlan renewed, int operator, Alias reference, List<ChosenRows.Chosen> columns, Rewriter rewriter) {
        Boundary boundary = rewriter.boundary(SegmentSpec.CHOSEN, operator, aggregate);
        boundary.takes = takes;
        boundary.column("key", null, 0);
        List<Expression> values = new ArrayList<>();
        values.add(reference.toAttribute());
        for (Chosen column : columns) {
            boundary.column("ref", "operator", column.operator());
            boundary.columns.get(boundary.columns.size() - 1).put("frame", column.way());
            values.add(column.output().toAttribute());
        }
        return Rewriter.tapped(renewed, values, rewriter.capture.sink(boundary));
    }

    /** Adds the columns to an aggregate's outputs. */
    public static void add(List<ChosenRows.Chosen> columns, List<NamedExpression> outputs) {
        for (ChosenRows.Chosen column : columns) {
            outputs.add(column.output());
        }
    }

    /** A reference of the row that is chosen in one way. */
    public record Chosen(Alias output, int operator, int way) {}
}
