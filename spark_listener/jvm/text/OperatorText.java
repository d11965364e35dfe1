package headwater.text;

import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** The words that the descriptions of operators share: columns, definitions and what is read. */
public final class OperatorText {
    private OperatorText() {}

    /** Describe an operator without a family: the source and columns of a leaf, or the columns that the operator reads. */
    public static void plain(LogicalPlan node, Map<String, Object> operator, LeafSources sources) {
        if (!node.children().isEmpty()) {
            operator.put("reads", reads(node));
            opaque(node, operator);
            return;
        }
        Integer source = sources.of(node);
        if (source != null) {
            operator.put("op", "Scan");
            operator.put("source", source);
        }
        operator.put("columns", columns(node));
    }

    /**
     * Describe an operator that creates columns in an unknown way, like a function over all rows of a task or a group.
     * The operator `makes` columns, and each of them may depend on every column that it `sees`.
     */
    private static void opaque(LogicalPlan node, Map<String, Object> operator) {
        Set<Long> seen = new LinkedHashSet<>(); // asked for every column
        for (LogicalPlan child : Scala.list(node.children())) {
            for (Attribute column : Scala.list(child.output())) {
                seen.add(column.exprId().id());
            }
        }
        List<Map<String, Object>> made = columns(node);
        for (int i = made.size() - 1; i >= 0; i--) {
            if (seen.contains(made.get(i).get("attr"))) {
                made.remove(i);
            }
        }
        if (!made.isEmpty()) {
            operator.put("makes", made);
            operator.put("sees", new ArrayList<>(seen));
        }
    }

    /** The output columns of a node. */
    public static List<Map<String, Object>> columns(LogicalPlan node) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (Attribute column : Scala.list(node.output())) {
            result.add(named(column));
        }
        return result;
    }

    /** The definitions in a list of named expressions. Columns that are only passed on are left out. */
    public static List<Map<String, Object>> defined(List<NamedExpression> columns, ExpressionText expressions) {
        List<Map<String, Object>> defines = new ArrayList<>();
        for (NamedExpression column : columns) {
            if (!(column instanceof Attribute) && expressions.isPivot(column)) {
                defines.addAll(expressions.pivoted(column));
            } else if (!(column instanceof Attribute)) {
                Map<String, Object> definition = named(column.toAttribute());
                definition.put("expr", expressions.outermost((Expression) column));
                defines.add(definition);
            }
        }
        return defines;
    }

    /** A column that is one of several expressions, by where the row comes from. */
    public static Map<String, Object> choice(String function, Attribute column, List<Map<String, Object>> arguments) {
        Map<String, Object> definition = named(column);
        Map<String, Object> expression = Parts.of("fn", function, "args", arguments, "type", definition.get("type"));
        definition.put("expr", expression);
        return definition;
    }

    public static List<Map<String, Object>> all(List<Expression> columns, ExpressionText expressions) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (Expression column : columns) {
            result.add(expressions.outermost(column));
        }
        return result;
    }

    /** The attributes that an operator's expressions read. */
    public static List<Long> reads(LogicalPlan node) {
        Set<Long> result = new LinkedHashSet<>();
        for (Expression expression : Scala.list(node.expressions())) {
            for (Attribute reference : Scala.list(expression.references())) {
                result.add(reference.exprId().id());
            }
        }
        return new ArrayList<>(result);
    }

    public static Map<String, Object> named(Attribute attribute) {
        return Parts.of(
            "attr", attribute.exprId().id(), "name", attribute.name(),
            "type", String.valueOf(ExpressionText.type(attribute)));
    }
}
