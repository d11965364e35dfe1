package headwater.write.iceberg;

import headwater.shim.ForwardedBatch;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.util.SerializableConfiguration;

/** A write of a row-level command that keeps deletions in separate files. */
final class TrackedDeltaBatch extends ForwardedBatch implements DeltaBatchWrite {
    private final SerializableConfiguration conf;
    private final TableCommit table;

    TrackedDeltaBatch(DeltaBatchWrite original, SerializableConfiguration conf, TableCommit table) {
        super(original);
        this.conf = conf;
        this.table = table;
    }

    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
        return new TrackedDeltaWriterFactory(((DeltaBatchWrite) original).createBatchWriterFactory(info), conf);
    }

    protected void begins() {
        table.begins();
    }

    protected void committed(WriterCommitMessage[] messages) {
        table.committed();
    }
}
