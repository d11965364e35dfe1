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
 * The rows that `first`, `last` and their like take of each group (docs: capture format, kind `chosen`). The engine is free to choose, so the
 * choice is recorded: the same function over a row's references meets the same rows in the same order, and takes those of the same row.
 */
public final class ChosenRows {
    private static final int MOST = 64; // columns that are added to an aggregate
    private static final long NO_RECORD = Long.MIN_VALUE; // as a tap records null

    private final List ways = new ArrayList(); // of AggregateExpression: the ways to choose a row, each once
    private final List takes = new ArrayList(); // of List: the number of an output's attribute, and a way by which it chooses
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
        List outputs = Scala.list(aggregate.aggregateExpressions());
        for (int i = 0; i < outputs.size(); i++) {
            List choices = new ArrayList();
            if (collect((Expression) outputs.get(i), choices)) {
                result.take(((NamedExpression) outputs.get(i)).exprId().id(), choices);
            }
        }
        return result.ways.isEmpty() ? null : result;
    }

    /** Adds the functions that choose; false: one of them cannot be repeated. */
    private static boolean collect(Expression expression, List choices) {
        if (expression instanceof AggregateExpression) {
            AggregateExpression function = (AggregateExpression) expression;
            if (!(function.aggregateFunction() instanceof First) && !(function.aggregateFunction() instanceof Last)) {
                return true;
            }
            choices.add(function);
            return !function.isDistinct() && function.deterministic() && (function.filter().isEmpty() || ((Expression) function.filter().get()).deterministic());
        }
        List children = Scala.list(expression.children());
        boolean known = true;
        for (int i = 0; i < children.size(); i++) {
            known &= collect((Expression) children.get(i), choices);
        }
        return known;
    }

    private void take(long output, List choices) {
        for (int i = 0; i < choices.size(); i++) {
            AggregateExpression choice = (AggregateExpression) choices.get(i);
            int way = 0;
            while (way < ways.size() && !isSameWay(choice, (AggregateExpression) ways.get(way))) {
                way++;
            }
            if (way == ways.size()) {
                ways.add(choice);
            }
            List pair = new ArrayList();
            pair.add(Long.valueOf(output));
            pair.add(Integer.valueOf(way));
            takes.add(pair);
        }
    }

    private static boolean isSameWay(AggregateExpression one, AggregateExpression other) {
        if (one.aggregateFunction().getClass() != other.aggregateFunction().getClass() || passesNulls(one) != passesNulls(other)
            || one.filter().isDefined() != other.filter().isDefined()) {
            return false;
        }
        boolean same = one.filter().isEmpty() || ((Expression) one.filter().get()).semanticEquals((Expression) other.filter().get());
        return same && (!passesNulls(one) || value(one).semanticEquals(value(other)));
    }

    private static boolean passesNulls(AggregateExpression choice) {
        AggregateFunction function = choice.aggregateFunction();
        return function instanceof First ? ((First) function).ignoreNulls() : ((Last) function).ignoreNulls();
    }

    private static Expression value(AggregateExpression choice) {
        return (Expression) choice.aggregateFunction().children().apply(0);
    }

    /** The references of the rows that an aggregate reads, for its outputs; empty: there are none, or too many. */
    public List columns(List hidden) {
        List result = new ArrayList(); // of Chosen
        for (int way = 0; way < ways.size(); way++) {
            for (int i = 0; i < hidden.size(); i++) {
                HiddenColumn column = (HiddenColumn) hidden.get(i);
                if (column.role.equals(HiddenColumn.REF)) {
                    result.add(new Chosen(Rewriter.alias(chosen((AggregateExpression) ways.get(way), column), "chosen"), column.operator, way));
                }
            }
        }
        return result.size() > MOST ? new ArrayList() : result;
    }

    private static Expression chosen(AggregateExpression choice, HiddenColumn column) {
        List values = new ArrayList();
        values.add(column.attribute);
        values.add(new Literal(Long.valueOf(NO_RECORD), DataTypes.LongType));
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
    public LogicalPlan tapped(LogicalPlan renewed, int operator, Alias reference, List columns, Rewriter rewriter) {
        Boundary boundary = rewriter.boundary(SegmentSpec.CHOSEN, operator, aggregate);
        boundary.takes = takes;
        boundary.column("key", null, 0);
        List values = new ArrayList();
        values.add(reference.toAttribute());
        for (int i = 0; i < columns.size(); i++) {
            Chosen column = (Chosen) columns.get(i);
            boundary.column("ref", "operator", column.operator);
            ((java.util.Map) boundary.columns.get(boundary.columns.size() - 1)).put("frame", Integer.valueOf(column.way));
            values.add(column.output.toAttribute());
        }
        return Rewriter.tapped(renewed, values, rewriter.capture.sink(boundary));
    }

    /** Adds the columns to an aggregate's outputs. */
    public static void add(List columns, List outputs) {
        for (int i = 0; i < columns.size(); i++) {
            outputs.add(((Chosen) columns.get(i)).output);
        }
    }

    /** A reference of the row that is chosen in one way. */
    private static final class Chosen {
        final Alias output;
        final int operator;
        final int way;

        Chosen(Alias output, int operator, int way) {
            this.output = output;
            this.operator = operator;
            this.way = way;
        }
    }
}
