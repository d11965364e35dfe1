package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.NamedRelation;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;

/**
 * Tables of table formats (Iceberg, Delta) as datasets of the manifest: their place, their name in a catalog, and the
 * snapshot that is read. The descriptions use Spark's interfaces, and accessors by name for details of a connector.
 */
final class TableText {
    private static final String DELTA = "org.apache.spark.sql.delta.";
    private static final String ICEBERG = "org.apache.iceberg.";
    private static final String NOOP = "org.apache.spark.sql.execution.datasources.noop.NoopTable$"; // what is written there is nowhere
    private static final String PYTHON = "org.apache.spark.sql.execution.datasources.v2.python.";
    private static final String SESSION = "spark_catalog.";
    private static final String REWRITTEN = "default_rewrite_catalog.";

    private TableText() {}

    /** The dataset of a scan. Its snapshot is the one of the plan, and null for a table without a snapshot. */
    static Map<String, Object> scanned(DataSourceV2ScanRelation leaf) {
        Map<String, Object> result = named(leaf.relation());
        if (result != null) {
            put(result, "version", Accessors.get(leaf.scan(), "snapshotId"));
        }
        return result;
    }

    /** The dataset that a command writes or changes, if it is a relation, or a table or name that was resolved. Null otherwise. */
    static Map<String, Object> target(LogicalPlan plan) {
        if (plan instanceof NamedRelation namedRelation) {
            return named(namedRelation);
        }
        if (plan instanceof ResolvedTable table) {
            return table(table.table(), name(table.catalog(), table.identifier()));
        }
        if (plan instanceof ResolvedIdentifier resolvedIdentifier) {
            return created(resolvedIdentifier);
        }
        if (plan instanceof LogicalRelation relation && relation.relation() instanceof HadoopFsRelation files) {
            List<Path> roots = Scala.list(files.location().rootPaths());
            return Parts.of(
                "path", roots.isEmpty() ? null : roots.get(0).toString(),
                "format", format(files, SourceList.format(files.fileFormat())),
                "columns", SourceList.columns(files.schema()));
        }
        List<LogicalPlan> below = Scala.list(plan.children());
        return below.size() == 1 ? target(below.get(0)) : null;
    }

    /** The format of a relation of files, by whose list of files it is: a table's data files are no dataset of their own. */
    static String format(HadoopFsRelation relation, String usual) {
        return relation.location().getClass().getName().startsWith(DELTA) ? "delta" : usual;
    }

    /** The version of a table whose files a relation reads. Null if the files are not of one known version. */
    static Object version(HadoopFsRelation relation) {
        Object files = relation.location();
        if (!files.getClass().getName().startsWith(DELTA)) {
            return null;
        }
        boolean isPrepared = files.getClass().getSimpleName().equals("PreparedDeltaFileIndex");
        return isPrepared || Boolean.TRUE.equals(Accessors.get(files, "isTimeTravelQuery")) ? Accessors.get(files, "version") : null;
    }

    private static Map<String, Object> named(NamedRelation relation) {
        if (!(relation instanceof DataSourceV2Relation known)) {
            Map<String, Object> result = new LinkedHashMap<>();
            result.put("name", relation.name());
            return result;
        }
        Object catalog = Scala.orNull(known.catalog());
        Object identifier = Scala.orNull(known.identifier());
        boolean isNamed = catalog != null && identifier != null;
        Map<String, Object> result = table(known.table(), isNamed ? name((CatalogPlugin) catalog, (Identifier) identifier) : relation.name());
        boolean isPlaced = result == null || result.containsKey("path") || result.containsKey("paths") || result.containsKey("jdbc");
        if (!isNamed && !isPlaced && !isOfMetadata(known.table()) && !known.table().getClass().getName().equals(NOOP)) {
            nameUnknown(known.table(), result);
        }
        return result;
    }

    /**
     * Name a table that has no place and is in no catalog. Its own name may not be unique, because it is often the name
     * of its class.
     */
    static void nameUnknown(Table table, Map<String, Object> described) {
        UnknownSources.name(table, table.getClass().getName().startsWith(PYTHON) ? table.name() : null, described);
    }

    static Map<String, Object> table(Table given, String called) {
        Table table = given instanceof RowLevelOperationTable rowLevelOperationTable ? rowLevelOperationTable.table() : given;
        String name = whole(table, called);
        boolean staged = table instanceof StagedTable; // a staged table does not exist yet: the command that creates it reports it
        if (staged && !table.getClass().getName().startsWith(ICEBERG)) {
            return null;
        }
        Map<String, Object> connected = Connectors.table(table);
        Map<String, Object> result = connected == null ? new LinkedHashMap<>() : connected;
        if (table instanceof FileTable fileTable) { // named after its format and paths, and without a location
            files(fileTable, result);
            return result;
        }
        if (staged) {
            result.put("staged", true);
        }
        result.put("name", name);
        result.put("columns", SourceList.columns(table.schema()));
        if (isOfMetadata(table)) {
            return result; // a metadata table does not contain the table's data
        }
        Object location = table.properties().get(TableCatalog.PROP_LOCATION);
        if (location != null) {
            result.put("path", location);
            if (!name.startsWith(REWRITTEN) && name.indexOf('/') < 0) {
                result.put("table", name); // leaves out temporary names and paths
                if (name.startsWith(SESSION)) {
                    put(result, "catalog", Tables.catalog());
                }
                CatalogText.add(result);
            }
            put(result, "format", table.properties().get(TableCatalog.PROP_PROVIDER));
        }
        return result;
    }

    /**
     * Files that a reader of the second kind reads (`spark.sql.sources.useV1SourceList`): the dataset that they are to
     * any other reader.
     */
    private static void files(FileTable table, Map<String, Object> result) {
        RootPaths.put(Scala.list(table.fileIndex().rootPaths()), result);
        result.put("format", table.formatName().toLowerCase(Locale.ROOT));
        result.put("columns", SourceList.columns(table.schema()));
    }

    /** A table that the command makes: its catalog knows where, once it is made; null until then. */
    private static Map<String, Object> created(ResolvedIdentifier made) {
        String name = name(made.catalog(), made.identifier());
        try {
            return table(((TableCatalog) made.catalog()).loadTable(made.identifier()), name);
        } catch (Throwable unknown) {
            if (unknown instanceof NoSuchTableException || unknown instanceof NoSuchNamespaceException) {
                return null;
            }
            Map<String, Object> result = new LinkedHashMap<>(); // the catalog is away
            result.put("name", name);
            return result;
        }
    }

    static String name(CatalogPlugin catalog, Identifier identifier) {
        StringBuilder result = new StringBuilder(catalog.name());
        String[] namespace = identifier.namespace();
        for (String string : namespace) {
            result.append('.').append(string);
        }
        return result.append('.').append(identifier.name()).toString();
    }

    /** The name of a table without the branch, tag or snapshot that Iceberg includes in the name (`db.t.branch_b`). */
    private static String whole(Table table, String called) {
        Object inner = table.getClass().getName().startsWith(ICEBERG) ? Accessors.get(table, "table") : null;
        String own = String.valueOf(Accessors.get(inner, "name"));
        return inner != null && called.startsWith(own + ".") ? own : called;
    }

    private static boolean isOfMetadata(Table table) {
        Object inner = Accessors.get(table, "table");
        for (Class<?> type = inner == null ? null : inner.getClass(); type != null; type = type.getSuperclass()) {
            if (type.getName().equals("org.apache.iceberg.BaseMetadataTable")) {
                return true;
            }
        }
        return false;
    }

    private static void put(Map<String, Object> into, String name, Object value) {
        if (value != null) {
            into.put(name, String.valueOf(value));
        }
    }
}
