package headwater.write.iceberg;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.util.SerializableConfiguration;

/** Makes the writers of a task of a row-level command that writes what it deletes apart. */
final class TrackedDeltaWriterFactory implements DeltaWriterFactory {
    private final DeltaWriterFactory original;
    private final SerializableConfiguration conf;

    TrackedDeltaWriterFactory(DeltaWriterFactory original, SerializableConfiguration conf) {
        this.original = original;
        this.conf = conf;
    }

    public DeltaWriter<InternalRow> createWriter(int partition, long task) {
        return new TrackedDeltaWriter(original.createWriter(partition, task), conf.value());
    }
}
