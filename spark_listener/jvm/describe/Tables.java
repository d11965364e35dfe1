package headwater.describe;

import headwater.shim.Scala;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;

/** A table of the session's catalog in a description: its name, and the catalog that has the table under this name. */
final class Tables {
    private static final String METASTORES = "hive.metastore.uris";

    private Tables() {}

    static void name(CatalogTable table, Map<String, Object> described) {
        described.put("table", table.identifier().unquotedString());
        String catalog = catalog();
        if (catalog != null) {
            described.put("catalog", catalog);
        }
        CatalogText.add(described);
    }

    /** A table that Hive's own readers and writers handle: its folder, name and format. */
    static void hive(CatalogTable table, Map<String, Object> described) {
        Option<URI> location = table.storage().locationUri();
        if (location.isDefined()) {
            described.put("path", new Path(location.get()).toString()); // written as paths of files are: one name however it is reached
        } else {
            described.put("name", table.identifier().unquotedString());
        }
        name(table, described);
        described.put("format", hiveFormat(table.storage()));
    }

    static String hiveFormat(CatalogStorageFormat storage) {
        Option<String> serde = storage.serde();
        String reader = serde.isDefined() ? serde.get() : "";
        return reader.endsWith("LazySimpleSerDe") ? "hive text" : "hive " + reader.substring(reader.lastIndexOf('.') + 1);
    }

    /** The present catalog entry of a table. Null if there is none, or if the catalog cannot be asked any more. */
    static CatalogTable found(TableIdentifier table) {
        Option<SparkSession> session = SparkSession.getDefaultSession();
        if (table == null || !session.isDefined() || !table.database().isDefined()) {
            return null;
        }
        try {
            return session.get().sharedState().externalCatalog().getTable(table.database().get(), table.table());
        } catch (Throwable gone) {
            return null;
        }
    }

    /** A table with its name, and with the place and columns that the catalog knows. */
    static Map<String, Object> described(TableIdentifier identifier, CatalogTable found) {
        Map<String, Object> described = new LinkedHashMap<>();
        if (found == null) {
            described.put("table", identifier.unquotedString());
            described.put("catalog", catalog());
            return described;
        }
        hive(found, described);
        described.put("table", identifier.unquotedString());
        if (found.provider().isDefined() && !"hive".equals(found.provider().get())) {
            described.put("format", found.provider().get().toLowerCase(Locale.ROOT));
        }
        described.put("columns", SourceList.columns(found.schema()));
        return described;
    }

    static Map<String, Object> lookup(TableIdentifier table) {
        return table == null ? null : described(table, found(table));
    }

    /** The table that a command of Spark's Hive module writes. Null for other commands. The module is not part of every Spark. */
    static CatalogTable writtenByHive(LogicalPlan command) {
        if (!command.getClass().getName().equals("org.apache.spark.sql.hive.execution.InsertIntoHiveTable")) {
            return null;
        }
        try {
            return (CatalogTable) command.getClass().getMethod("table").invoke(command);
        } catch (ReflectiveOperationException fault) {
            return null; // another version of the module: its columns are still described
        }
    }

    /** Whether that command replaces what it writes to. */
    static boolean overwrites(LogicalPlan command) {
        try {
            return Boolean.TRUE.equals(command.getClass().getMethod("overwrite").invoke(command));
        } catch (ReflectiveOperationException fault) {
            return false;
        }
    }

    /** The metastore, else the folder of the warehouse, as OpenLineage names them; null where no session is at hand. */
    static String catalog() {
        Option<SparkSession> active = SparkSession.getActiveSession();
        Option<SparkSession> session = active.isDefined() ? active : SparkSession.getDefaultSession();
        if (!session.isDefined()) {
            return null;
        }
        SparkSession known = session.get();
        String stores = known.sparkContext().hadoopConfiguration().get(METASTORES, "").trim();
        if (!stores.isEmpty() && "hive".equals(Scala.orNull(known.conf().getOption("spark.sql.catalogImplementation")))) {
            return stores.split(",")[0].trim().replaceFirst("^thrift:", "hive:");
        }
        return known.sessionState().conf().warehousePath();
    }
}
