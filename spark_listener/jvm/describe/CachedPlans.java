package headwater.describe;

import headwater.rewrite.core.Capture;
import headwater.rewrite.kept.Materialized;
import headwater.rewrite.kept.RecordedRows;
import headwater.shim.Scala;
import headwater.text.ExpressionText;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The plans below the caches and checkpoints that a query reads. A description lists each plan after the query's own
 * operators, once for each reader, so that a capture needs no other capture to be complete.
 */
final class CachedPlans {
    /** A plan whose rows were kept, in a description. */
    static final class Place {
        final Map<String, Object> operator; // the operator that reads the rows, as the description has it
        final LogicalPlan relation;
        final Capture capture; // of the plan that made them; null: it has none
        int first; // the number of the plan's root

        Place(Map<String, Object> operator, LogicalPlan relation) {
            this.operator = operator;
            this.relation = relation;
            this.capture = Materialized.of(relation);
        }

        LogicalPlan plan() {
            return capture == null ? Materialized.written(relation) : capture.original;
        }

        /** The number in the description of what the capture's own numbering calls `operator`: 0 is what reads the rows. */
        int number(int operator) {
            if (RecordedRows.isRecorded(operator)) {
                return operator;
            }
            return operator == 0 ? ((Integer) this.operator.get("id")).intValue() : first + operator - 1;
        }
    }

    private CachedPlans() {}

    /** The definition of each column that is read, in terms of the plan below. */
    static List<Map<String, Object>> defined(LogicalPlan relation, LogicalPlan plan, ExpressionText expressions) {
        List<Map<String, Object>> result = new ArrayList<>();
        List<Attribute> read = Scala.list(relation.output());
        List<Attribute> made = Scala.list(plan.output());
        for (int i = 0; i < read.size() && i < made.size(); i++) {
            Map<String, Object> definition = OperatorText.named(read.get(i));
            definition.put("expr", expressions.of(made.get(i)));
            result.add(definition);
        }
        return result;
    }

    /** A boundary's columns, as the description numbers their operators. */
    static List<Map<String, Object>> columns(List<Map<String, Object>> columns, Place place) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (Map<String, Object> original : columns) {
            Map<String, Object> column = new LinkedHashMap<>(original);
            if (column.containsKey("operator")) {
                column.put("operator", Long.valueOf(place.number(((Number) column.get("operator")).intValue())));
            }
            result.add(column);
        }
        return result;
    }
}
