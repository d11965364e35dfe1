package headwater.write.iceberg;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A task's writer of Iceberg, which notes where the rows go. */
class TrackedWriter implements DataWriter<InternalRow> {
    private final DataWriter<InternalRow> original;
    final TableRows rows;

    TrackedWriter(DataWriter<InternalRow> original, Configuration conf) {
        this.original = original;
        this.rows = new TableRows(original, conf);
    }

    public void write(InternalRow row) throws IOException {
        original.write(row);
        rows.row();
    }

    public void write(InternalRow metadata, InternalRow row) throws IOException {
        original.write(metadata, row);
        rows.row();
    }

    public WriterCommitMessage commit() throws IOException {
        WriterCommitMessage message = original.commit();
        rows.committed(message);
        return message;
    }

    public void abort() throws IOException {
        original.abort();
    }

    public void close() throws IOException {
        original.close();
    }

    public CustomTaskMetric[] currentMetricsValues() {
        return original.currentMetricsValues();
    }
}
