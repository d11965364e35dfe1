package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.RowDataSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;

/** The dataset that a scan of an executed plan has read, as descriptions name it: `paths`, or the options of a connector. */
public final class ScannedText {
    private static final String HIVE = "org.apache.spark.sql.hive.execution.HiveTableScanExec";
    private static final String ICEBERG = "org.apache.iceberg.spark.source.SparkBatchQueryScan";
    private static final String OURS = "headwater.source.iceberg.";

    private ScannedText() {}

    /** Null if the plan is no scan, or if Spark counts other rows than the dataset's (an aggregate of the source). */
    public static Map<String, Object> of(SparkPlan scan) {
        if (scan instanceof FileSourceScanExec fileSourceScanExec) {
            return paths(files(fileSourceScanExec));
        }
        if (scan instanceof RowDataSourceScanExec rowDataSourceScanExec) {
            return Connectors.read(rowDataSourceScanExec.relation());
        }
        Map<String, Object> result = new LinkedHashMap<>();
        if (scan instanceof BatchScanExec batchScanExec) {
            Map<String, Object> table = isOfRows(batchScanExec.scan()) ? TableText.table(batchScanExec.table(), "/") : null;
            Object path = table == null ? null : table.get("path");
            return path == null ? null : paths(table.get("paths") == null ? one(path) : Untyped.value(table.get("paths")));
        }
        if (scan.getClass().getName().equals(HIVE)) {
            Tables.hive(((HiveTableRelation) Accessors.get(scan, "relation")).tableMeta(), result);
            return result.get("path") == null ? null : paths(one(result.get("path")));
        }
        return null;
    }

    private static List<Object> files(FileSourceScanExec scan) {
        Object table = scan.tableIdentifier().isDefined() ? Scala.orNull(scan.relation().options().get("path")) : null;
        boolean isPartitioned = !scan.relation().partitionSchema().isEmpty(); // then the scan lists the partitions that Spark has chosen
        return table != null && isPartitioned ? one(table) : RootPaths.texts(Scala.list(scan.relation().location().rootPaths()));
    }

    private static boolean isOfRows(Scan scan) {
        Object original = scan.getClass().getName().startsWith(OURS) ? Accessors.field(scan, "original") : scan;
        Object aggregate = Accessors.get(original, "pushedAggregate"); // of files that Spark reads by its newer interface
        boolean isOfFiles = aggregate instanceof scala.Option<?> option && option.isEmpty();
        return isOfFiles || original.getClass().getName().equals(ICEBERG);
    }

    private static List<Object> one(Object path) {
        List<Object> result = new ArrayList<>();
        result.add(path);
        return result;
    }

    private static Map<String, Object> paths(List<Object> paths) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("paths", paths);
        return result;
    }
}
