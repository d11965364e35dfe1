package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.plans.logical.AlterTableCommand;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructField;

/**
 * Commands that create, change or drop a table and write no rows, and commands that load whole files. The sink's
 * `change` is CREATE, ALTER, TRUNCATE, RENAME or DROP. The change is missing if the command may have done nothing. The
 * description is made as soon as the command has ended. A table that is gone by then is known by its name only.
 */
public final class TableChanges {
    private static final String COMMANDS = "org.apache.spark.sql.execution.command.";
    private static final String LOGICAL = "org.apache.spark.sql.catalyst.plans.logical.";

    private static final String DELTA = "org.apache.spark.sql.delta.commands.";
    private static final String HIVE = "org.apache.spark.sql.hive.execution.CreateHiveTableAsSelectCommand";

    private TableChanges() {}

    /** The table that a command is about; null for commands that are about none. */
    public static Map<String, Object> describe(LogicalPlan command) {
        String name = command.getClass().getName();
        forgetView(command, name);
        if (Boolean.TRUE.equals(Accessors.get(command, "isView"))) {
            return null;
        }
        if (name.startsWith(COMMANDS)) {
            return ofSession(command, name.substring(COMMANDS.length()));
        }
        if (name.equals(HIVE)) {
            return filled((CatalogTable) Accessors.get(command, "tableDesc"));
        }
        if (name.startsWith(DELTA)) {
            Map<String, Object> table = DeltaTables.changed(command);
            return table == null ? null : change(table, DeltaTables.change(command));
        }
        return name.startsWith(LOGICAL) ? ofCatalog(command, name.substring(LOGICAL.length())) : null;
    }

    /** Commands on tables of Spark's own catalog. */
    private static Map<String, Object> ofSession(LogicalPlan command, String name) {
        if (name.equals("CreateTableCommand") || name.equals("CreateDataSourceTableCommand")) {
            return created((CatalogTable) Accessors.get(command, "table"), isLenient(command));
        }
        if (name.equals("CreateDataSourceTableAsSelectCommand")) {
            return filled((CatalogTable) Accessors.get(command, "table"));
        }
        if (name.equals("CreateTableLikeCommand")) {
            return alike(identifier(command, "targetTable"), isLenient(command));
        }
        if (name.equals("DropTableCommand")) {
            TableIdentifier gone = identifier(command, "tableName");
            return gone == null ? null : dropped(Tables.described(gone, null), command, Scala.orNull(gone.database()), gone.table());
        }
        if (name.equals("TruncateTableCommand")) { // of a partition: the table is not empty
            boolean whole = Scala.orNull((scala.Option<?>) Accessors.get(command, "partitionSpec")) == null;
            return change(Tables.lookup(identifier(command, "tableName")), whole ? "TRUNCATE" : "ALTER");
        }
        if (name.equals("AlterTableRenameCommand")) {
            return renamed(identifier(command, "oldName"), identifier(command, "newName"));
        }
        if (name.equals("LoadDataCommand")) {
            return LoadedFiles.sink(command);
        }
        if (name.startsWith("AlterTable") || name.equals("RepairTableCommand")) {
            TableIdentifier named = identifier(command, "tableName");
            TableIdentifier table = named == null ? identifier(command, "table") : named;
            Map<String, Object> result = change(Tables.lookup(table), "ALTER");
            CatalogTable found = name.endsWith("ColumnsCommand") || name.endsWith("ColumnCommand") ? Tables.found(table) : null;
            if (found != null) {
                Object added = Accessors.get(command, "colsToAdd");
                List<StructField> fields = added instanceof scala.collection.Iterable<?> ? Scala.list(Untyped.<scala.collection.Iterable<StructField>>value(added)) : new ArrayList<>();
                result.put("columns", ColumnChanges.kept(found.schema(), ColumnChanges.names(fields)));
            }
            return result;
        }
        return null;
    }

    /** Commands on tables of another catalog. */
    private static Map<String, Object> ofCatalog(LogicalPlan command, String name) {
        if (command instanceof AlterTableCommand alterTableCommand) {
            Map<String, Object> result = change(first(command), "ALTER");
            ColumnChanges.state(alterTableCommand, result);
            return result;
        }
        if (name.equals("CreateTable") || name.equals("ReplaceTable")) {
            return change(first(command), Boolean.TRUE.equals(Accessors.get(command, "ignoreIfExists")) ? null : "CREATE");
        }
        if (name.equals("TruncateTable")) {
            return change(first(command), "TRUNCATE");
        }
        if (name.equals("RenameTable")) {
            Map<String, Object> result = change(first(command), "RENAME");
            if (result != null && result.containsKey("table")) {
                result.put("previous_table", result.get("table"));
            }
            return result;
        }
        if (!name.equals("DropTable") || Scala.list(command.children()).isEmpty() || !(Scala.list(command.children()).get(0) instanceof ResolvedIdentifier)) {
            return null;
        }
        ResolvedIdentifier gone = (ResolvedIdentifier) Scala.list(command.children()).get(0);
        String[] namespace = gone.identifier().namespace();
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("table", TableText.name(gone.catalog(), gone.identifier()));
        if (((String) result.get("table")).startsWith("spark_catalog.")) {
            result.put("catalog", Tables.catalog());
        }
        return dropped(result, command, namespace.length == 1 ? namespace[0] : null, gone.identifier().name());
    }

    private static Map<String, Object> first(LogicalPlan command) {
        return Scala.list(command.children()).isEmpty() ? null : TableText.target(Scala.list(command.children()).get(0));
    }

    /**
     * CREATE IF NOT EXISTS. The catalog's event and the age of the table show whether the table existed before.
     * Metastores keep times in seconds.
     */
    private static Map<String, Object> created(CatalogTable given, boolean isLenient) {
        if (given == null) {
            return null;
        }
        CatalogTable found = Tables.found(given.identifier());
        Map<String, Object> result = Tables.described(given.identifier(), found);
        boolean isOld = found != null && found.createTime() / 1000L < given.createTime() / 1000L;
        CatalogEvents.ask(result, "CREATE", Scala.orNull(given.identifier().database()), given.identifier().table(), isLenient && !isOld);
        return change(result, isLenient ? null : "CREATE");
    }

    /**
     * CREATE TABLE AS SELECT and `saveAsTable`, which fill the table with a query of their own. The catalog's event
     * shows whether the table is new or replaces a dropped one. If there is no event, the table existed and got more
     * rows.
     */
    private static Map<String, Object> filled(CatalogTable given) {
        if (given == null) {
            return null;
        }
        TableIdentifier named = given.identifier();
        String database = named.database().isDefined() ? named.database().get() : CatalogEvents.madeIn(named.table());
        TableIdentifier full = new TableIdentifier(named.table(), database == null ? named.database() : Scala.some(database), Scala.some("spark_catalog"));
        Map<String, Object> result = change(Tables.described(full, Tables.found(full)), null);
        CatalogEvents.ask(result, "CREATE", database, named.table(), true);
        result.put("frames", true);
        return result;
    }

    /** A view is no table, and a table that takes its name later replaces none. */
    private static void forgetView(LogicalPlan command, String name) {
        if (name.equals(COMMANDS + "DropTableCommand") && Boolean.TRUE.equals(Accessors.get(command, "isView"))) {
            forget("DROP", identifier(command, "tableName"));
        } else if (name.equals(COMMANDS + "CreateViewCommand")) {
            forget("CREATE", identifier(command, "name"));
        }
    }

    private static void forget(String change, TableIdentifier view) {
        if (view != null && view.database().isDefined()) {
            CatalogEvents.forget(change, view.database().get(), view.table());
        }
    }

    /** CREATE TABLE LIKE, whose table may be one of the database that was current then. */
    private static Map<String, Object> alike(TableIdentifier given, boolean isLenient) {
        String database = given == null ? null : given.database().isDefined() ? given.database().get() : CatalogEvents.madeIn(given.table());
        if (database == null) {
            return null;
        }
        Map<String, Object> result = Tables.lookup(new TableIdentifier(given.table(), Scala.some(database), Scala.some("spark_catalog")));
        CatalogEvents.ask(result, "CREATE", database, given.table(), isLenient);
        return change(result, isLenient ? null : "CREATE");
    }

    /** DROP IF EXISTS. The catalog's event shows whether there was a table. */
    private static Map<String, Object> dropped(Map<String, Object> table, LogicalPlan command, String database, String name) {
        boolean isLenient = Boolean.TRUE.equals(Accessors.get(command, "ifExists"));
        CatalogEvents.ask(table, "DROP", database, name, isLenient);
        return change(table, isLenient ? null : "DROP");
    }

    /** A managed table's folder is called after the table, and goes with its name. */
    private static Map<String, Object> renamed(TableIdentifier old, TableIdentifier given) {
        if (old == null || given == null) {
            return null;
        }
        TableIdentifier made = given.database().isDefined() ? given : new TableIdentifier(given.table(), old.database(), old.catalog());
        CatalogTable found = Tables.found(made);
        Map<String, Object> result = change(Tables.described(made, found), "RENAME");
        result.put("previous_table", old.unquotedString());
        if (found != null && found.tableType().equals(CatalogTableType.MANAGED()) && result.get("path") != null) {
            Path path = new Path((String) result.get("path"));
            if (path.getName().equalsIgnoreCase(made.table())) {
                result.put("previous_path", new Path(path.getParent(), old.table()).toString());
                result.put("columns", ColumnChanges.kept(found.schema(), new HashSet<>()));
            }
        }
        return result;
    }

    private static boolean isLenient(LogicalPlan command) {
        return Boolean.TRUE.equals(Accessors.get(command, "ignoreIfExists")) || Boolean.TRUE.equals(Accessors.get(command, "ifNotExists"));
    }

    private static TableIdentifier identifier(LogicalPlan command, String member) {
        Object value = Accessors.get(command, member);
        return value instanceof TableIdentifier tableIdentifier ? tableIdentifier : null;
    }

    private static Map<String, Object> change(Map<String, Object> table, String change) {
        if (table == null) {
            return null;
        }
        table.put("only_change", true);
        if (change != null) {
            table.put("change", change);
        }
        return table;
    }
}
