package headwater.text;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
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
 * PIVOT puts all of its columns into one array, of which a projection above takes the elements. Described as what it is: a column an
 * element, each the first value whose row has the element's pivot value. The columns' numbers are made up: no attribute has them.
 * Where one element is all that is taken, Spark makes one aggregate of the two, and the function stands where the element does.
 */
final class Pivots {
    private static final long FIRST = 1L << 52;
    private static final long MOST = 1L << 14; // elements; spark.sql.pivotMaxValues is 10,000

    private final Map arrays = new HashMap(); // Long exprId -> PivotFirst

    void find(LogicalPlan node) {
        if (node instanceof Aggregate) {
            List outputs = Scala.list(((Aggregate) node).aggregateExpressions());
            for (int i = 0; i < outputs.size(); i++) {
                PivotFirst pivot = outputs.get(i) instanceof Alias ? pivot(((Alias) outputs.get(i)).child()) : null;
                if (pivot != null && pivot.pivotColumnValues().size() < MOST) {
                    arrays.put(Long.valueOf(((NamedExpression) outputs.get(i)).exprId().id()), pivot);
                }
            }
        }
        List children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            find((LogicalPlan) children.get(i));
        }
    }

    private static PivotFirst pivot(Expression expression) {
        if (!(expression instanceof AggregateExpression)) {
            return null;
        }
        Object function = ((AggregateExpression) expression).aggregateFunction();
        return function instanceof PivotFirst ? (PivotFirst) function : null;
    }

    boolean isArray(NamedExpression column) {
        return arrays.containsKey(Long.valueOf(column.exprId().id()));
    }

    /** The element that an expression takes of a pivot's array, as a column or the function itself; null if it takes none. */
    Map element(Expression expression, ExpressionText expressions) {
        if (!(expression instanceof GetArrayItem) || !(((GetArrayItem) expression).ordinal() instanceof Literal)) {
            return null;
        }
        Expression array = ((GetArrayItem) expression).child();
        int place = ((Number) ((Literal) ((GetArrayItem) expression).ordinal()).value()).intValue();
        PivotFirst pivot = pivot(array);
        if (pivot != null) {
            return function(pivot, place, expressions);
        }
        if (!(array instanceof Attribute) || !isArray((NamedExpression) array)) {
            return null;
        }
        return column((Attribute) array, place, ExpressionText.type(expression));
    }

    /** The columns of an array. */
    List columns(NamedExpression array, ExpressionText expressions) {
        PivotFirst pivot = (PivotFirst) arrays.get(Long.valueOf(array.exprId().id()));
        List result = new ArrayList();
        for (int i = 0; i < pivot.pivotColumnValues().size(); i++) {
            Map definition = column(array.toAttribute(), i, ExpressionText.type(pivot.valueColumn()));
            definition.remove("fn");
            definition.put("expr", function(pivot, i, expressions));
            result.add(definition);
        }
        return result;
    }

    /** What an element is: the first value whose row has its pivot value. */
    private static Map function(PivotFirst pivot, int place, ExpressionText expressions) {
        List sides = new ArrayList();
        sides.add(expressions.of(pivot.pivotColumn()));
        sides.add(expressions.of(new Literal(pivot.pivotColumnValues().apply(place), pivot.pivotColumn().dataType())));
        Map filter = new LinkedHashMap();
        filter.put("fn", "<=>");
        filter.put("args", sides);
        filter.put("type", "boolean");
        List arguments = new ArrayList();
        arguments.add(expressions.of(pivot.valueColumn()));
        Map result = new LinkedHashMap();
        result.put("fn", "first");
        result.put("name", "pivot");
        result.put("args", arguments);
        result.put("type", ExpressionText.type(pivot.valueColumn()));
        result.put("aggregate", Boolean.TRUE);
        result.put("filter", filter);
        return result;
    }

    private static Map column(Attribute array, int place, String type) {
        Map result = new LinkedHashMap();
        result.put("fn", "attr");
        result.put("attr", Long.valueOf(FIRST + array.exprId().id() * MOST + place));
        result.put("name", array.name() + "[" + place + "]");
        result.put("type", type);
        return result;
    }
}
