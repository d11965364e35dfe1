package headwater.write.iceberg;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.util.SerializableConfiguration;

/** A command on an Iceberg table, with tasks that note where their rows go. The distribution of the rows is already decided. */
public final class TrackedWrite implements Write {
    private final Write original;
    private final SerializableConfiguration conf;
    private final TableCommit table;

    private TrackedWrite(Write original, SerializableConfiguration conf, TableCommit table) {
        this.original = original;
        this.conf = conf;
        this.table = table;
    }

    public static Write of(Write original, Configuration conf, TableCommit table) {
        SerializableConfiguration sent = new SerializableConfiguration(conf);
        return original instanceof DeltaWrite deltaWrite
            ? new TrackedDeltaWrite(deltaWrite, sent, table) : (Write) new TrackedWrite(original, sent, table);
    }

    public String description() {
        return original.description();
    }

    public BatchWrite toBatch() {
        return new TrackedBatch(original.toBatch(), conf, table);
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
