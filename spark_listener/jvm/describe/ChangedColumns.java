package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import headwater.text.ExpressionText;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Iterable;

/**
 * How MERGE, UPDATE and DELETE of Delta change each column, by the text of the command. It serves captures without
 * records. Delta's classes are accessed by name, and missing parts are left out.
 */
final class ChangedColumns {
    private static final String COMMANDS = "org.apache.spark.sql.delta.commands.";

    private ChangedColumns() {}

    /** Add the columns to the sink, and their definitions to the operator. */
    static void describe(LogicalPlan command, Map<String, Object> operator, Map<String, Object> sink, ExpressionText expressions) {
        Object target = Accessors.get(command, "target");
        if (sink == null || !command.getClass().getName().startsWith(COMMANDS) || !(target instanceof LogicalPlan logicalPlan)) {
            return;
        }
        try {
            List<Attribute> table = Scala.list(logicalPlan.output());
            String name = command.nodeName();
            Map<String, List<Map<String, Object>>> made = name.equals("MergeIntoCommand") ? merged(command, operator, table, expressions)
                : name.equals("UpdateCommand") ? updated(command, table, expressions)
                : name.equals("DeleteCommand") ? carried(table, expressions) : null;
            if (made != null) {
                state(made, types(command, table), operator, sink);
                // UPDATE has its condition in each column that it changes
                Expression decides = name.equals("UpdateCommand") ? null : condition(command);
                if (decides != null) {
                    operator.put("condition", expressions.of(decides)); // which rows match, or are not there any more
                }
            }
        } catch (RuntimeException unknown) { // another version of Delta: the columns are left out
            operator.remove("defines");
        }
    }

    /** Expressions by the name of the column, of DELETE: the rows that are left are as they were. */
    private static Map<String, List<Map<String, Object>>> carried(List<Attribute> table, ExpressionText expressions) {
        Map<String, List<Map<String, Object>>> result = new LinkedHashMap<>();
        for (Attribute column : table) {
            add(result, column.name(), expressions.of((Expression) column));
        }
        return result;
    }

    private static Map<String, List<Map<String, Object>>> updated(LogicalPlan command, List<Attribute> table, ExpressionText expressions) {
        List<Expression> given = Scala.list(Untyped.<Iterable<Expression>>value(Accessors.get(command, "updateExpressions")));
        Expression condition = condition(command);
        Map<String, List<Map<String, Object>>> result = new LinkedHashMap<>();
        for (int i = 0; i < table.size() && given.size() == table.size(); i++) {
            Attribute column = table.get(i);
            Expression update = given.get(i);
            if (condition == null || update.semanticEquals(column)) {
                add(result, column.name(), expressions.of(update));
                continue;
            }
            List<Map<String, Object>> choice = new ArrayList<>();
            choice.add(expressions.of(condition));
            choice.add(expressions.of(update));
            choice.add(expressions.of((Expression) column));
            Map<String, Object> chosen = Parts.of("fn", "if", "args", choice);
            add(result, column.name(), chosen);
        }
        return result;
    }

    /**
     * The sources of a column by clause. If rows may stay unchanged, the column itself is one of them. The conditions
     * of the clauses belong to the operator.
     */
    private static Map<String, List<Map<String, Object>>> merged(LogicalPlan command, Map<String, Object> operator, List<Attribute> table, ExpressionText expressions) {
        List<Object> changes = Scala.list((Iterable<?>) Accessors.get(command, "matchedClauses"));
        changes.addAll(Scala.list((Iterable<?>) Accessors.get(command, "notMatchedBySourceClauses")));
        Map<String, List<Map<String, Object>>> result = changes.isEmpty() ? new LinkedHashMap<>() : carried(table, expressions); // what only inserts leaves the table's files alone
        List<Object> clauses = new ArrayList<>(changes);
        clauses.addAll(Scala.list((Iterable<?>) Accessors.get(command, "notMatchedClauses")));
        List<Map<String, Object>> conditions = new ArrayList<>();
        for (Object clause : clauses) {
            Expression condition = condition(clause);
            if (condition != null) {
                conditions.add(expressions.of(condition));
            }
            List<Object> actions = Scala.list((Iterable<?>) Accessors.get(clause, "resolvedActions"));
            for (Object action : actions) {
                List<Object> parts = Scala.list((Iterable<?>) Accessors.get(action, "targetColNameParts"));
                add(result, String.valueOf(parts.get(0)), expressions.of((Expression) Accessors.get(action, "expr")));
            }
        }
        operator.put("conditions", conditions);
        return result;
    }

    private static void state(Map<String, List<Map<String, Object>>> made, Map<Object, Object> types, Map<String, Object> operator, Map<String, Object> sink) {
        List<Map<String, Object>> columns = new ArrayList<>();
        List<Map<String, Object>> defines = new ArrayList<>();
        Object[] names = types.keySet().toArray();
        for (int i = 0; i < names.length; i++) {
            Map<String, Object> column = new LinkedHashMap<>();
            column.put("attr", -1L - i); // no attribute of the plan: the table's own stand for what was there before
            column.put("name", names[i]);
            column.put("type", types.get(names[i]));
            columns.add(new LinkedHashMap<>(column));
            Object arguments = made.get(((String) names[i]).toLowerCase(Locale.ROOT));
            if (arguments != null) {
                Map<String, Object> expression = Parts.of("fn", "merge", "args", arguments);
                column.put("expr", expression);
                defines.add(column);
            }
        }
        operator.put("reads", new ArrayList<>());
        operator.put("defines", defines);
        sink.put("columns", columns);
    }

    /** The types of the table's columns by their names, also of those that a MERGE adds. */
    private static Map<Object, Object> types(LogicalPlan command, List<Attribute> table) {
        Map<Object, Object> result = new LinkedHashMap<>();
        Object migrated = Accessors.get(command, "migratedSchema");
        if (migrated instanceof Option<?> option && option.isDefined()) {
            StructField[] fields = ((StructType) option.get()).fields();
            for (StructField field : fields) {
                result.put(field.name(), field.dataType().catalogString());
            }
            return result;
        }
        for (Attribute attribute : table) {
            Map<String, Object> column = OperatorText.named(attribute);
            result.put(column.get("name"), column.get("type"));
        }
        return result;
    }

    private static Expression condition(Object of) {
        Object found = Accessors.get(of, "condition");
        Object given = found instanceof Option<?> option ? Scala.orNull(option) : found;
        return given instanceof Expression expression ? expression : null;
    }

    private static void add(Map<String, List<Map<String, Object>>> expressions, String column, Map<String, Object> expression) {
        String name = column.toLowerCase(Locale.ROOT);
        List<Map<String, Object>> known = expressions.get(name);
        if (known == null) {
            known = new ArrayList<>();
            expressions.put(name, known);
        }
        known.add(expression);
    }
}
