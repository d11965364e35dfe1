package headwater.write.iceberg;

import headwater.shim.ForwardedBatch;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.util.SerializableConfiguration;

/** A write of an Iceberg table. Its tasks note where their rows go, and it finds the snapshot that it makes. */
final class TrackedBatch extends ForwardedBatch {
    private final SerializableConfiguration conf;
    private final TableCommit table;

    TrackedBatch(BatchWrite original, SerializableConfiguration conf, TableCommit table) {
        super(original);
        this.conf = conf;
        this.table = table;
    }

    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return new TrackedWriterFactory(original.createBatchWriterFactory(info), conf);
    }

    protected void begins() {
        table.begins();
    }

    protected void committed(WriterCommitMessage[] messages) {
        table.committed();
    }
}
