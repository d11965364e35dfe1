package headwater.text;

import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetArrayItem;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.PivotFirst;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * PIVOT aggregates into one array, and a projection above takes its elements. The description has a column for each
 * element, with the first value whose row has the element's pivot value. The ids of these columns are made up, and
 * belong to no attribute. If only one element is used, Spark merges both into one aggregate, and the function is in the
 * place of the element.
 */
final class Pivots {
    private static final long FIRST = 1L << 52;
    private static final long MOST = 1L << 14; // elements; spark.sql.pivotMaxValues is 10,000

    private final Map<Long, PivotFirst> arrays = new HashMap<>(); // Long exprId -> PivotFirst

    void find(LogicalPlan node) {
        if (node instanceof Aggregate aggregate) {
            for (NamedExpression output : Scala.list(aggregate.aggregateExpressions())) {
                PivotFirst pivot = output instanceof Alias alias ? pivot(alias.child()) : null;
                if (pivot != null && pivot.pivotColumnValues().size() < MOST) {
                    arrays.put(output.exprId().id(), pivot);
                }
            }
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            find(child);
        }
    }

    private static PivotFirst pivot(Expression expression) {
        if (!(expression instanceof AggregateExpression aggregateExpression)) {
            return null;
        }
        Object function = aggregateExpression.aggregateFunction();
        return function instanceof PivotFirst pivotFirst ? pivotFirst : null;
    }

    boolean isArray(NamedExpression column) {
        return arrays.containsKey(column.exprId().id());
    }

    /** The element that an expression takes of a pivot's array, as a column or the function itself; null if it takes none. */
    Map<String, Object> element(Expression expression, ExpressionText expressions) {
        if (!(expression instanceof GetArrayItem getArrayItem) || !(getArrayItem.ordinal() instanceof Literal literal)) {
            return null;
        }
        Expression array = getArrayItem.child();
        int place = ((Number) literal.value()).intValue();
        PivotFirst pivot = pivot(array);
        if (pivot != null) {
            return function(pivot, place, expressions);
        }
        if (!(array instanceof Attribute attribute) || !isArray((NamedExpression) array)) {
            return null;
        }
        return column(attribute, place, ExpressionText.type(expression));
    }

    /** The columns of an array. */
    List<Map<String, Object>> columns(NamedExpression array, ExpressionText expressions) {
        PivotFirst pivot = arrays.get(array.exprId().id());
        List<Map<String, Object>> result = new ArrayList<>();
        for (int i = 0; i < pivot.pivotColumnValues().size(); i++) {
            Map<String, Object> definition = column(array.toAttribute(), i, ExpressionText.type(pivot.valueColumn()));
            definition.remove("fn");
            definition.put("expr", function(pivot, i, expressions));
            result.add(definition);
        }
        return result;
    }

    /** The definition of an element: the first value whose row has its pivot value. */
    private static Map<String, Object> function(PivotFirst pivot, int place, ExpressionText expressions) {
        List<Map<String, Object>> sides = new ArrayList<>();
        sides.add(expressions.of(pivot.pivotColumn()));
        sides.add(expressions.of(new Literal(pivot.pivotColumnValues().apply(place), pivot.pivotColumn().dataType())));
        Map<String, Object> filter = Parts.of("fn", "<=>", "args", sides, "type", "boolean");
        List<Map<String, Object>> arguments = new ArrayList<>();
        arguments.add(expressions.of(pivot.valueColumn()));
        return Parts.of(
            "fn", "first", "name", "pivot", "args", arguments, "type", ExpressionText.type(pivot.valueColumn()),
            "aggregate", true, "filter", filter);
    }

    private static Map<String, Object> column(Attribute array, int place, String type) {
        return Parts.of(
            "fn", "attr", "attr", FIRST + array.exprId().id() * MOST + place, "name", array.name() + "[" + place + "]",
            "type", type);
    }
}
