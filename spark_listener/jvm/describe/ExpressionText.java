package headwater.describe;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryOperator;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;

/** Expressions as the manifest has them. Total: what is not known by kind is described by Spark's own name for it. */
final class ExpressionText {
    private static final int MOST = 50000; // nodes a plan; beyond, arguments are left out and `truncated` is set

    private int nodes;

    /** The outermost expression, with Spark's own text. */
    Map outermost(Expression expression) {
        Expression bare = expression instanceof Alias ? ((Alias) expression).child() : expression;
        Map result = of(bare);
        try {
            result.put("sql", bare.sql());
        } catch (RuntimeException none) {
            result.put("sql", bare.toString()); // some internal expressions have no SQL
        }
        return result;
    }

    Map of(Expression expression) {
        if (expression instanceof Alias) {
            return of(((Alias) expression).child());
        }
        if (expression instanceof WindowExpression) {
            return of(((WindowExpression) expression).windowFunction()); // its frame is told beside it
        }
        Map result = new LinkedHashMap();
        if (expression instanceof AggregateExpression) {
            AggregateExpression aggregate = (AggregateExpression) expression;
            result.putAll(of((Expression) aggregate.aggregateFunction()));
            result.put("aggregate", Boolean.TRUE);
            if (aggregate.isDistinct()) {
                result.put("distinct", Boolean.TRUE);
            }
            if (aggregate.filter().isDefined()) {
                result.put("filter", of((Expression) aggregate.filter().get()));
            }
            return result;
        }
        result.put("fn", name(expression));
        if (expression instanceof Attribute) {
            result.put("attr", Long.valueOf(((Attribute) expression).exprId().id()));
            result.put("name", ((Attribute) expression).name());
        } else if (expression instanceof Literal) {
            Object value = ((Literal) expression).value();
            result.put("value", value == null ? null : expression.toString());
        } else if (expression instanceof PythonUDF) {
            result.put("name", ((PythonUDF) expression).name());
        }
        List arguments = new ArrayList();
        if (++nodes > MOST) {
            result.put("truncated", Boolean.TRUE);
        } else {
            List children = Scala.list(expression.children());
            for (int i = 0; i < children.size(); i++) {
                arguments.add(of((Expression) children.get(i)));
            }
        }
        if (!arguments.isEmpty() || !(expression instanceof Attribute || expression instanceof Literal)) {
            result.put("args", arguments);
        }
        String type = type(expression);
        if (type != null) {
            result.put("type", type);
        }
        return result;
    }

    private static String name(Expression expression) {
        if (expression instanceof Attribute) {
            return "attr";
        }
        if (expression instanceof Literal) {
            return "literal";
        }
        if (expression instanceof PythonUDF) {
            return "python_udf";
        }
        if (expression instanceof BinaryOperator) {
            return ((BinaryOperator) expression).symbol().toLowerCase(java.util.Locale.ROOT);
        }
        return expression.prettyName().toLowerCase(java.util.Locale.ROOT);
    }

    /** Spark's DDL of the expression's type; null where it has none. */
    static String type(Expression expression) {
        try {
            return expression.dataType().catalogString();
        } catch (RuntimeException none) {
            return null;
        }
    }
}
