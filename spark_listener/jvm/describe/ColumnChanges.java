package headwater.describe;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.AlterTableCommand;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceColumns;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * The columns of a table after a command that changes them, with the earlier name of each column (`was`). Only the
 * command and the table before it are read, because a later command may have changed the table again.
 */
final class ColumnChanges {
    private ColumnChanges() {}

    /** Sets the columns of a table that ALTER TABLE changes. Other changes leave them as they are described. */
    static void state(AlterTableCommand command, Map<String, Object> sink) {
        List<TableChange> changes = Scala.list(command.changes());
        boolean isOfColumns = false;
        for (TableChange change : changes) {
            isOfColumns |= change instanceof TableChange.ColumnChange;
        }
        if (sink == null || !isOfColumns || !(command.table() instanceof ResolvedTable resolvedTable)) {
            return;
        }
        StructType before = columns(resolvedTable);
        StructType after;
        try {
            after = CatalogV2Util.applySchemaChanges(before, command.changes(), Option.empty(), "ALTER TABLE");
        } catch (RuntimeException unknown) { // the columns after the command are not known, so their earlier names cannot be used
            sink.remove("columns");
            return;
        }
        boolean isByName = command instanceof ReplaceColumns && "delta".equals(sink.get("format")); // others drop all columns first
        sink.put("columns", described(after, isByName ? sameNames(before, after) : formerNames(before, changes)));
    }

    /** Describes columns that all were there before but those in `added`. */
    static List<Map<String, Object>> kept(StructType after, Set<String> added) {
        Map<String, Object> was = new LinkedHashMap<>();
        StructField[] fields = after.fields();
        for (StructField field : fields) {
            if (!added.contains(field.name().toLowerCase(Locale.ROOT))) {
                was.put(field.name(), field.name());
            }
        }
        return described(after, was);
    }

    /** The names of some columns, as `kept` takes them; `fields`: of StructField. */
    static Set<String> names(List<StructField> fields) {
        Set<String> result = new HashSet<>();
        for (StructField field : fields) {
            result.add(field.name().toLowerCase(Locale.ROOT));
        }
        return result;
    }

    /** The table's columns as the command was resolved with them. The table itself may be one that changes with its catalog. */
    private static StructType columns(ResolvedTable table) {
        List<Attribute> output = Scala.list(table.output());
        StructField[] fields = new StructField[output.size()];
        for (int i = 0; i < fields.length; i++) {
            Attribute column = output.get(i);
            fields[i] = new StructField(column.name(), column.dataType(), column.nullable(), column.metadata());
        }
        return new StructType(fields);
    }

    /**
     * The former name of each column that goes on. A column that is dropped and added again is a new one. A nested
     * field is a part of its column.
     */
    private static Map<String, Object> formerNames(StructType before, List<TableChange> changes) {
        Map<String, Object> was = sameNames(before, before);
        for (TableChange change : changes) {
            String[] path = change instanceof TableChange.ColumnChange columnChange ? columnChange.fieldNames() : null;
            if (path == null || path.length != 1) {
                continue;
            }
            if (change instanceof TableChange.RenameColumn renameColumn) {
                Object former = was.remove(path[0]);
                if (former != null) {
                    was.put(renameColumn.newName(), former);
                }
            } else if (change instanceof TableChange.DeleteColumn || change instanceof TableChange.AddColumn) {
                was.remove(path[0]);
            }
        }
        return was;
    }

    private static Map<String, Object> sameNames(StructType before, StructType after) {
        Map<String, String> known = new LinkedHashMap<>();
        for (int i = 0; i < before.length(); i++) {
            known.put(before.apply(i).name().toLowerCase(Locale.ROOT), before.apply(i).name());
        }
        Map<String, Object> was = new LinkedHashMap<>();
        for (int i = 0; i < after.length(); i++) {
            Object former = known.get(after.apply(i).name().toLowerCase(Locale.ROOT));
            if (former != null) {
                was.put(after.apply(i).name(), former);
            }
        }
        return was;
    }

    private static List<Map<String, Object>> described(StructType columns, Map<String, Object> was) {
        List<Map<String, Object>> result = new ArrayList<>(SourceList.columns(columns));
        for (Map<String, Object> column : result) {
            if (was.containsKey(column.get("name"))) {
                column.put("was", was.get(column.get("name")));
            }
        }
        return result;
    }
}
