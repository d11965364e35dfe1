package headwater.rewrite.iceberg;

import headwater.rewrite.core.Refused;
import headwater.shim.Accessors;
import headwater.shim.DataFiles;
import headwater.shim.Scala;
import headwater.source.iceberg.NumberedTableScan;
import headwater.source.iceberg.TableFiles;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** Finds the scans of Iceberg tables whose records are identified by data file and position. */
public final class TableScans {
    private static final String PACKAGE = "org.apache.iceberg.spark.source.";
    private static final List<?> KNOWN = Arrays.asList("SparkBatchQueryScan", "SparkIncrementalAppendScan", "SparkCopyOnWriteScan", "SparkStagedScan");

    private TableScans() {}

    /** Whether a scan is one of Iceberg. */
    public static boolean is(Scan scan) {
        return scan.getClass().getName().startsWith(PACKAGE);
    }

    /**
     * Throws Refused, with the name of the scan, if the records cannot be identified. The check plans the scan as Spark
     * is about to.
     */
    public static void check(DataSourceV2ScanRelation relation) {
        Scan scan = relation.scan();
        String name = is(scan) ? "Scan iceberg" : relation.nodeName();
        if (!is(scan)) {
            throw new Refused(name, "records are not followed through this operator yet");
        }
        Refused.untried(name, "Iceberg");
        if (!KNOWN.contains(scan.getClass().getSimpleName())) {
            throw new Refused(name, "records of this kind of scan are not followed yet: " + scan.getClass().getSimpleName());
        }
        String obstacle = NumberedTableScan.obstacle(scan);
        if (obstacle != null) {
            throw new Refused(name, obstacle);
        }
        for (AttributeReference reference : Scala.list(relation.output())) {
            String column = reference.name();
            if (column.startsWith("_headwater_")) {
                throw new Refused(name, "a column is called " + column);
            }
        }
        for (Object task : TableFiles.tasks(scan)) {
            Object file = Accessors.get(task, "file");
            if (file == null || !Boolean.TRUE.equals(Accessors.get(task, "isFileScanTask")) || isOfMetadata(task)) {
                throw new Refused(name, "it reads something else than data files, as tables of metadata do");
            }
            if (!"PARQUET".equals(DataFiles.format(file))) {
                throw new Refused(name, "records of data files of the format " + DataFiles.format(file) + " are not numbered yet");
            }
        }
    }

    /** The configuration of the tasks' access to files. */
    public static Configuration conf() {
        return SparkContext.getOrCreate().hadoopConfiguration();
    }

    private static boolean isOfMetadata(Object task) {
        return Boolean.TRUE.equals(Accessors.get(task, "isDataTask"));
    }

    /**
     * The identity of a scan's source: the table, and its snapshot or range of snapshots. Two scans with equal keys
     * read the same source.
     */
    public static List<Object> key(DataSourceV2ScanRelation relation) {
        List<Object> key = new ArrayList<>();
        Object table = Accessors.get(relation.scan(), "table");
        key.add("iceberg");
        key.add(String.valueOf(Accessors.get(table, "location")));
        key.add(String.valueOf(Accessors.get(relation.scan(), "snapshotId")));
        key.add(String.valueOf(Accessors.field(relation.scan(), "startSnapshotId")));
        key.add(String.valueOf(Accessors.field(relation.scan(), "endSnapshotId")));
        key.add(names(relation));
        return key;
    }

    /** The names of the columns by field id, because the schemas of two snapshots may have different names. */
    private static String names(DataSourceV2ScanRelation relation) {
        return String.valueOf(Accessors.get(Accessors.get(relation.scan(), "schema"), "asStruct"));
    }
}
