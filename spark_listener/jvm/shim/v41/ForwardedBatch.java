package headwater.shim;

import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.WriteSummary;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A write of a connector that may get a summary of the rows with its commit, as in Spark 4.1. */
public abstract class ForwardedBatch extends ForwardedWrite {
    protected ForwardedBatch(BatchWrite original) {
        super(original);
    }

    public void commit(WriterCommitMessage[] messages, WriteSummary summary) {
        begins();
        original.commit(messages, summary);
        committed(messages);
    }
}
