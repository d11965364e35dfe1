package headwater.write.iceberg;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.util.SerializableConfiguration;

/** Makes the writers of a task, in the executor. */
final class TrackedWriterFactory implements DataWriterFactory {
    private final DataWriterFactory original;
    private final SerializableConfiguration conf;

    TrackedWriterFactory(DataWriterFactory original, SerializableConfiguration conf) {
        this.original = original;
        this.conf = conf;
    }

    public DataWriter<InternalRow> createWriter(int partition, long task) {
        return new TrackedWriter(original.createWriter(partition, task), conf.value());
    }
}
