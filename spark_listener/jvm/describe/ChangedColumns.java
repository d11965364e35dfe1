package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Scala;
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
 * What MERGE, UPDATE and DELETE of Delta make of each column of their table, by what the commands say. For where the query that does it is not
 * known: records are not captured, or were refused. Delta's classes are met by name; what one does not tell is left out.
 */
final class ChangedColumns {
    private static final String COMMANDS = "org.apache.spark.sql.delta.commands.";

    private ChangedColumns() {}

    /** Adds the columns to the sink, and what they are made of to the operator, of which the columns are definitions. */
    static void describe(LogicalPlan command, Map operator, Map sink, ExpressionText expressions) {
        Object target = Accessors.get(command, "target");
        if (sink == null || !command.getClass().getName().startsWith(COMMANDS) || !(target instanceof LogicalPlan)) {
            return;
        }
        try {
            List table = Scala.list(((LogicalPlan) target).output());
            String name = command.nodeName();
            Map made = name.equals("MergeIntoCommand") ? merged(command, operator, table, expressions)
                : name.equals("UpdateCommand") ? updated(command, table, expressions)
                : name.equals("DeleteCommand") ? carried(table, expressions) : null;
            if (made != null) {
                state(made, types(command, table), operator, sink);
                Expression decides = name.equals("UpdateCommand") ? null : condition(command); // of UPDATE it stands in each column that it changes
                if (decides != null) {
                    operator.put("condition", expressions.of(decides)); // which rows match, or are not there any more
                }
            }
        } catch (RuntimeException unknown) { // another version of Delta: the command is told without its columns
            operator.remove("defines");
        }
    }

    /** Expressions by the name of the column, of DELETE: the rows that are left are as they were. */
    private static Map carried(List table, ExpressionText expressions) {
        Map result = new LinkedHashMap();
        for (int i = 0; i < table.size(); i++) {
            add(result, ((Attribute) table.get(i)).name(), expressions.of((Expression) table.get(i)));
        }
        return result;
    }

    private static Map updated(LogicalPlan command, List table, ExpressionText expressions) {
        List given = Scala.list((Iterable) Accessors.get(command, "updateExpressions"));
        Expression condition = condition(command);
        Map result = new LinkedHashMap();
        for (int i = 0; i < table.size() && given.size() == table.size(); i++) {
            Attribute column = (Attribute) table.get(i);
            Expression update = (Expression) given.get(i);
            if (condition == null || update.semanticEquals(column)) {
                add(result, column.name(), expressions.of(update));
                continue;
            }
            List choice = new ArrayList();
            choice.add(expressions.of(condition));
            choice.add(expressions.of(update));
            choice.add(expressions.of((Expression) column));
            Map chosen = new LinkedHashMap();
            chosen.put("fn", "if");
            chosen.put("args", choice);
            add(result, column.name(), chosen);
        }
        return result;
    }

    /** What each clause makes of a column; where rows may stay, the column as it was, too. The conditions of the clauses are the operator's. */
    private static Map merged(LogicalPlan command, Map operator, List table, ExpressionText expressions) {
        List changes = Scala.list((Iterable) Accessors.get(command, "matchedClauses"));
        changes.addAll(Scala.list((Iterable) Accessors.get(command, "notMatchedBySourceClauses")));
        Map result = changes.isEmpty() ? new LinkedHashMap() : carried(table, expressions); // what only inserts leaves the table's files alone
        List clauses = new ArrayList(changes);
        clauses.addAll(Scala.list((Iterable) Accessors.get(command, "notMatchedClauses")));
        List conditions = new ArrayList();
        for (int i = 0; i < clauses.size(); i++) {
            Expression condition = condition(clauses.get(i));
            if (condition != null) {
                conditions.add(expressions.of(condition));
            }
            List actions = Scala.list((Iterable) Accessors.get(clauses.get(i), "resolvedActions"));
            for (int j = 0; j < actions.size(); j++) {
                List parts = Scala.list((Iterable) Accessors.get(actions.get(j), "targetColNameParts"));
                add(result, String.valueOf(parts.get(0)), expressions.of((Expression) Accessors.get(actions.get(j), "expr")));
            }
        }
        operator.put("conditions", conditions);
        return result;
    }

    private static void state(Map made, Map types, Map operator, Map sink) {
        List columns = new ArrayList();
        List defines = new ArrayList();
        Object[] names = types.keySet().toArray();
        for (int i = 0; i < names.length; i++) {
            Map column = new LinkedHashMap();
            column.put("attr", Long.valueOf(-1L - i)); // no attribute of the plan: the table's own stand for what was there before
            column.put("name", names[i]);
            column.put("type", types.get(names[i]));
            columns.add(new LinkedHashMap(column));
            Object arguments = made.get(((String) names[i]).toLowerCase(Locale.ROOT));
            if (arguments != null) {
                Map expression = new LinkedHashMap();
                expression.put("fn", "merge");
                expression.put("args", arguments);
                column.put("expr", expression);
                defines.add(column);
            }
        }
        operator.put("reads", new ArrayList());
        operator.put("defines", defines);
        sink.put("columns", columns);
    }

    /** The types of the table's columns by their names, also of those that a MERGE adds. */
    private static Map types(LogicalPlan command, List table) {
        Map result = new LinkedHashMap();
        Object migrated = Accessors.get(command, "migratedSchema");
        if (migrated instanceof Option && ((Option) migrated).isDefined()) {
            StructField[] fields = ((StructType) ((Option) migrated).get()).fields();
            for (int i = 0; i < fields.length; i++) {
                result.put(fields[i].name(), fields[i].dataType().catalogString());
            }
            return result;
        }
        for (int i = 0; i < table.size(); i++) {
            Map column = OperatorText.named((Attribute) table.get(i));
            result.put(column.get("name"), column.get("type"));
        }
        return result;
    }

    private static Expression condition(Object of) {
        Object found = Accessors.get(of, "condition");
        Object given = found instanceof Option ? Scala.orNull((Option) found) : found;
        return given instanceof Expression ? (Expression) given : null;
    }

    private static void add(Map expressions, String column, Map expression) {
        String name = column.toLowerCase(Locale.ROOT);
        List known = (List) expressions.get(name);
        if (known == null) {
            known = new ArrayList();
            expressions.put(name, known);
        }
        known.add(expression);
    }
}
