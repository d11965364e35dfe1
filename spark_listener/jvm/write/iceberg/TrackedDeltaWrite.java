package headwater.write.iceberg;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.util.SerializableConfiguration;

/** A write of a row-level command that keeps deletions in separate files. */
final class TrackedDeltaWrite implements DeltaWrite {
    private final DeltaWrite original;
    private final SerializableConfiguration conf;
    private final TableCommit table;

    TrackedDeltaWrite(DeltaWrite original, SerializableConfiguration conf, TableCommit table) {
        this.original = original;
        this.conf = conf;
        this.table = table;
    }

    public String description() {
        return original.description();
    }

    public DeltaBatchWrite toBatch() {
        return new TrackedDeltaBatch(original.toBatch(), conf, table);
    }

    public CustomMetric[] supportedCustomMetrics() {
        return original.supportedCustomMetrics();
    }

    public CustomTaskMetric[] reportDriverMetrics() {
        return original.reportDriverMetrics();
    }

    public String toString() {
        return original.toString();
    }
}
