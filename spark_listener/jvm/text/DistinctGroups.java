package headwater.text;

import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * Several DISTINCT aggregates in the form of the optimizer (RewriteDistinctAggregates). An Expand makes a row for each
 * of them, numbered `gid`. An aggregate keeps each value once, and another aggregate counts those with its number. A
 * plain function of the upper aggregate was a DISTINCT function in the query.
 */
final class DistinctGroups {
    private static final long FIRST = 1L << 51; // numbers of columns that are made up: no attribute has them
    private static final long MOST = 1L << 10; // DISTINCT aggregates of an operator

    private final Set<ExprId> numbers = new HashSet<>(); // ExprId of the Expand's numbers
    private Aggregate below; // that keeps one row of each value
    private final Map<Aggregate, Map<Object, Object[]>> taken; // Aggregate below -> Map Integer number -> Object[] {EqualTo that asks for it, what its rows must meet}

    DistinctGroups(Map<Aggregate, Map<Object, Object[]>> taken) {
        this.taken = taken;
    }

    /** Below an aggregate. */
    static DistinctGroups under(Aggregate aggregate, Map<Aggregate, Map<Object, Object[]>> taken) {
        DistinctGroups result = new DistinctGroups(taken);
        LogicalPlan node = aggregate.child();
        while (node instanceof Project || node.getClass() == Aggregate.class) {
            result.below = result.below == null && node instanceof Aggregate ownAggregate ? ownAggregate : result.below;
            node = node.children().apply(0);
        }
        if (result.below != null && node instanceof Expand) {
            for (Attribute column : Scala.list(node.output())) {
                if (column.name().equals("gid")) {
                    result.numbers.add(column.exprId());
                }
            }
        }
        return result;
    }

    /** Whether the function takes each value once: it asks for the rows of a number from 1 on (0 are those of plain functions). */
    boolean take(AggregateExpression function) {
        return wanted(Scala.orNull(function.filter())) != null;
    }

    /**
     * The made-up column of the lower aggregate for all rows of each value, if the function needs them (docs:
     * semantics). A count needs one row of each value, and has none.
     */
    Long rows(AggregateExpression function) {
        EqualTo wanted = wanted(Scala.orNull(function.filter()));
        if (wanted == null || function.aggregateFunction() instanceof Count) {
            return null;
        }
        Map<Object, Object[]> known = taken.get(below);
        if (known == null) {
            known = new TreeMap<>();
            taken.put(below, known);
        }
        known.put(((Literal) wanted.right()).value(), new Object[] {wanted, met(function.filter().get())});
        return number((Attribute) wanted.left(), ((Literal) wanted.right()).value());
    }

    /** The made-up columns of an aggregate that keeps one row of each value: `rows`, an aggregate of those rows that have the number. */
    static List<Map<String, Object>> columns(Aggregate aggregate, Map<Aggregate, Map<Object, Object[]>> taken, ExpressionText expressions) {
        List<Map<String, Object>> result = new ArrayList<>();
        Map<Object, Object[]> known = taken.get(aggregate);
        Iterator<Object> all = known == null ? new ArrayList<>().iterator() : known.keySet().iterator();
        while (all.hasNext()) {
            Object number = all.next();
            Object[] wanted = known.get(number);
            Map<String, Object> function = Parts.of(
                "fn", "rows", "args", new ArrayList<>(), "aggregate", true,
                "filter", expressions.of((Expression) wanted[1]));
            Map<String, Object> definition = Parts.of(
                "attr", number((Attribute) ((EqualTo) wanted[0]).left(), number), "name", "rows of DISTINCT " + number,
                "expr", function);
            result.add(definition);
        }
        return result;
    }

    /**
     * The further condition of the rows with a number: the function's FILTER. Spark computes it in the Expand, and the
     * lower aggregate finds by max whether a row of the value passes.
     */
    private Expression met(Expression filter) {
        if (filter instanceof And and) {
            return new And(met(and.left()), met(and.right()));
        }
        List<NamedExpression> outputs = Scala.list(below.aggregateExpressions());
        for (int i = 0; filter instanceof Attribute && i < outputs.size(); i++) {
            NamedExpression output = outputs.get(i);
            Object function = output instanceof Alias alias ? alias.child() : null;
            boolean asked = output.exprId().equals(((Attribute) filter).exprId()) && function instanceof AggregateExpression;
            if (asked && ((AggregateExpression) function).aggregateFunction() instanceof Max max) {
                return max.child();
            }
        }
        return filter;
    }

    private static Long number(Attribute gid, Object number) {
        return FIRST + gid.exprId().id() * MOST + ((Integer) number).longValue();
    }

    /** The part of a filter that compares the number with 1 or more, or null. */
    private EqualTo wanted(Expression filter) {
        if (filter instanceof And and) {
            EqualTo left = wanted(and.left());
            return left != null ? left : wanted(and.right());
        }
        if (!(filter instanceof EqualTo equalTo)) {
            return null;
        }
        Expression number = equalTo.left();
        Expression value = equalTo.right();
        boolean asks = number instanceof Attribute attribute && numbers.contains(attribute.exprId()) && value instanceof Literal literal
            && literal.value() instanceof Integer integer && integer > 0;
        return asks ? equalTo : null;
    }
}
