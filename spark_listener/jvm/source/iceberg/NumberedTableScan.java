package headwater.source.iceberg;

import headwater.source.SourceFiles;
import headwater.tap.Reports;
import java.util.OptionalLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A scan of an Iceberg table with one more column for the reference of each row: the ordinal of its data file, and its
 * position in the file. The original scan still plans, filters and counts, because a row-level command asks that object
 * for the files that it read.
 */
public class NumberedTableScan implements Scan, SupportsReportStatistics {
    public static final String COLUMN = "_headwater_row";

    final Scan original;
    final SourceFiles files;
    final Reports reports;
    final Configuration conf;

    NumberedTableScan(Scan original, SourceFiles files, Reports reports, Configuration conf) {
        this.original = original;
        this.files = files;
        this.reports = reports;
        this.conf = conf;
    }

    public static NumberedTableScan of(Scan original, SourceFiles files, Reports reports, Configuration conf) {
        return original instanceof SupportsRuntimeV2Filtering
            ? new PrunedTableScan(original, files, reports, conf) : new NumberedTableScan(original, files, reports, conf);
    }

    /** Why the tasks of a scan could not be asked for places; null where they can. */
    public static String obstacle(Scan scan) {
        try {
            Class<?> part = Class.forName("org.apache.iceberg.spark.source.SparkInputPartition", false, scan.getClass().getClassLoader());
            return NumberedTableBatch.field(part) == null ? "this release of Iceberg tells its tasks in another way what to read" : null;
        } catch (Throwable unknown) {
            return "this release of Iceberg is not known: " + unknown;
        }
    }

    public StructType readSchema() {
        return original.readSchema().add(COLUMN, DataTypes.LongType, false);
    }

    public String description() {
        return original.description();
    }

    public Batch toBatch() {
        return new NumberedTableBatch(original.toBatch(), this);
    }

    public CustomMetric[] supportedCustomMetrics() {
        return original.supportedCustomMetrics();
    }

    public CustomTaskMetric[] reportDriverMetrics() {
        return original.reportDriverMetrics();
    }

    public Scan.ColumnarSupportMode columnarSupportMode() {
        return original.columnarSupportMode();
    }

    public Statistics estimateStatistics() {
        return original instanceof SupportsReportStatistics supportsReportStatistics ? supportsReportStatistics.estimateStatistics() : new Unknown();
    }

    public boolean equals(Object other) {
        return other != null && other.getClass() == getClass() && ((NumberedTableScan) other).original.equals(original)
            && ((NumberedTableScan) other).files == files;
    }

    public int hashCode() {
        return original.hashCode();
    }

    public String toString() {
        return original.toString();
    }

    private static final class Unknown implements Statistics {
        public OptionalLong sizeInBytes() {
            return OptionalLong.empty();
        }

        public OptionalLong numRows() {
            return OptionalLong.empty();
        }
    }
}
