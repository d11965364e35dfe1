package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Delta's own commands and reads: tables that are made of existing files or of earlier versions, and the change feed.
 * Delta's classes are accessed by name.
 */
final class DeltaTables {
    private static final String PACKAGE = "org.apache.spark.sql.delta.";
    private static final String COMMANDS = PACKAGE + "commands.";
    private static final List<?> CHANGES = Arrays.asList(new Object[] {"_change_type", "_commit_version", "_commit_timestamp"});

    private DeltaTables() {}

    /** The table that RESTORE puts back, or that a clone makes; null of other commands. */
    static Map<String, Object> changed(LogicalPlan command) {
        if (command.getClass().getName().equals(COMMANDS + "RestoreTableCommand")) {
            Object table = Accessors.get(command, "sourceTable");
            return table instanceof Table ownTable ? TableText.table(ownTable, ownTable.name()) : null;
        }
        Object clone = clone(command);
        StructType columns = (StructType) Accessors.get(Accessors.get(clone, "sourceTable"), "schema");
        if (columns == null) {
            return null;
        }
        Map<String, Object> result = Parts.of(
            "path", String.valueOf(Accessors.get(clone, "targetPath")), "format", "delta");
        Object table = Accessors.get(command, "table");
        if (table instanceof CatalogTable catalogTable && catalogTable.identifier().table().indexOf('/') < 0) {
            Tables.name(catalogTable, result);
        }
        result.put("columns", ColumnChanges.kept(columns, new HashSet<>()));
        result.put("carried_from", path(Accessors.get(clone, "sourceTable")));
        return result;
    }

    /** The change that a clone makes to its table. Null if the clone may have found a table and done nothing. */
    static String change(LogicalPlan command) {
        if (clone(command) == null) {
            return "ALTER";
        }
        Object mode = Accessors.get(command, "mode");
        return mode == SaveMode.Ignore ? null : mode == SaveMode.Overwrite ? "OVERWRITE" : "CREATE";
    }

    /** The source of a clone; null of other commands. */
    static List<Map<String, Object>> sources(LogicalPlan command) {
        Object source = Accessors.get(clone(command), "sourceTable");
        if (source == null) {
            return null;
        }
        Map<String, Object> described = Parts.of(
            "path", path(source), "format", String.valueOf(Accessors.get(source, "format")).toLowerCase(Locale.ROOT));
        Object columns = Accessors.get(source, "schema");
        if (columns instanceof StructType struct) {
            described.put("columns", SourceList.columns(struct));
        }
        Object snapshot = Accessors.get(source, "snapshot");
        Object version = snapshot instanceof Option<?> option ? Accessors.get(Scala.orNull(option), "version") : null;
        if (version != null) {
            described.put("version", String.valueOf(version));
        }
        described.put("source", 0);
        List<Map<String, Object>> result = new ArrayList<>();
        result.add(described);
        return result;
    }

    private static String path(Object source) {
        return String.valueOf(Accessors.get(source, "dataPath"));
    }

    private static Object clone(LogicalPlan command) {
        Object query = command.getClass().getName().equals(COMMANDS + "CreateDeltaTableCommand") ? Accessors.get(command, "query") : null;
        Object inner = query instanceof Option<?> option ? Scala.orNull(option) : null;
        return inner != null && inner.getClass().getName().equals(COMMANDS + "CloneTableCommand") ? inner : null;
    }

    /** The table whose change feed a relation reads; null of another relation. */
    static Map<String, Object> changeFeed(Object relation) {
        if (!relation.getClass().getName().startsWith(COMMANDS + "cdc.")) {
            return null;
        }
        Object snapshot = Accessors.get(Accessors.get(relation, "snapshotWithSchemaMode"), "snapshot");
        Object log = Accessors.get(relation, "deltaLog");
        Object path = Accessors.get(log == null ? Accessors.get(snapshot, "deltaLog") : log, "dataPath");
        if (path == null) {
            return null;
        }
        Map<String, Object> result = Parts.of("path", String.valueOf(path), "format", "delta");
        Object table = Accessors.get(relation, "catalogTableOpt");
        if (table instanceof Option<?> option && option.isDefined()) {
            Tables.name((CatalogTable) option.get(), result);
        }
        return result;
    }

    /** Whether a list of files is one of changes, whose columns are not all the table's. */
    static boolean isOfChanges(Object files) {
        String name = files.getClass().getName();
        return name.startsWith(PACKAGE) && (name.endsWith(".CdcAddFileIndex") || name.endsWith("ChangeFileIndex") || name.endsWith("RemoveFileIndex"));
    }

    /** The columns of a change feed that are the table's. */
    static StructType ofTable(StructType columns) {
        List<StructField> result = new ArrayList<>();
        StructField[] fields = columns.fields();
        for (StructField field : fields) {
            if (!CHANGES.contains(field.name())) {
                result.add(field);
            }
        }
        return new StructType(result.toArray(new StructField[0]));
    }
}
