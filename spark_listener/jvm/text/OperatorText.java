package headwater.text;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.LinkedHashMap;
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

    /** What is said of an operator of which nothing special is known: a leaf's source and columns, or what the operator reads. */
    public static void plain(LogicalPlan node, Map operator, LeafSources sources) {
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
     * An operator that makes columns in a way of which nothing is known (a function over all rows of a task or a group): those that it `makes`, and
     * those that it `sees`, of which each may be made.
     */
    private static void opaque(LogicalPlan node, Map operator) {
        Set seen = new LinkedHashSet(); // asked for every column
        List children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            List output = Scala.list(((LogicalPlan) children.get(i)).output());
            for (int j = 0; j < output.size(); j++) {
                seen.add(Long.valueOf(((Attribute) output.get(j)).exprId().id()));
            }
        }
        List made = columns(node);
        for (int i = made.size() - 1; i >= 0; i--) {
            if (seen.contains(((Map) made.get(i)).get("attr"))) {
                made.remove(i);
            }
        }
        if (!made.isEmpty()) {
            operator.put("makes", made);
            operator.put("sees", new ArrayList(seen));
        }
    }

    /** What a node puts out. */
    public static List columns(LogicalPlan node) {
        List result = new ArrayList();
        List output = Scala.list(node.output());
        for (int i = 0; i < output.size(); i++) {
            result.add(named((Attribute) output.get(i)));
        }
        return result;
    }

    /** What a list of named expressions computes; what merely passes through is left out. */
    public static List defined(List columns, ExpressionText expressions) {
        List defines = new ArrayList();
        for (int i = 0; i < columns.size(); i++) {
            NamedExpression column = (NamedExpression) columns.get(i);
            if (!(column instanceof Attribute) && expressions.isPivot(column)) {
                defines.addAll(expressions.pivoted(column));
            } else if (!(column instanceof Attribute)) {
                Map definition = named(column.toAttribute());
                definition.put("expr", expressions.outermost((Expression) column));
                defines.add(definition);
            }
        }
        return defines;
    }

    /** A column that is one of several expressions, by where the row comes from. */
    public static Map choice(String function, Attribute column, List arguments) {
        Map definition = named(column);
        Map expression = new LinkedHashMap();
        expression.put("fn", function);
        expression.put("args", arguments);
        expression.put("type", definition.get("type"));
        definition.put("expr", expression);
        return definition;
    }

    public static List all(List columns, ExpressionText expressions) {
        List result = new ArrayList();
        for (int i = 0; i < columns.size(); i++) {
            result.add(expressions.outermost((Expression) columns.get(i)));
        }
        return result;
    }

    /** The attributes that an operator's expressions read. */
    public static List reads(LogicalPlan node) {
        Set result = new LinkedHashSet();
        List expressions = Scala.list(node.expressions());
        for (int i = 0; i < expressions.size(); i++) {
            List references = Scala.list(((Expression) expressions.get(i)).references());
            for (int j = 0; j < references.size(); j++) {
                result.add(Long.valueOf(((Attribute) references.get(j)).exprId().id()));
            }
        }
        return new ArrayList(result);
    }

    public static Map named(Attribute attribute) {
        Map result = new LinkedHashMap();
        result.put("attr", Long.valueOf(attribute.exprId().id()));
        result.put("name", attribute.name());
        result.put("type", String.valueOf(ExpressionText.type(attribute)));
        return result;
    }
}
