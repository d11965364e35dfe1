package headwater.shim;

import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.WriterCommitMessage;

/** A write of a connector, observed before and after its commit. The subclass ForwardedBatch has the commits of one line of Spark. */
abstract class ForwardedWrite implements BatchWrite {
    protected final BatchWrite original;

    ForwardedWrite(BatchWrite original) {
        this.original = original;
    }

    /** Called before the commit; must not throw. */
    protected abstract void begins();

    /** Called after a commit that succeeded; must not throw. */
    protected abstract void committed(WriterCommitMessage[] messages);

    public boolean useCommitCoordinator() {
        return original.useCommitCoordinator();
    }

    public void onDataWriterCommit(WriterCommitMessage message) {
        original.onDataWriterCommit(message);
    }

    public void commit(WriterCommitMessage[] messages) {
        begins();
        original.commit(messages);
        committed(messages);
    }

    public void abort(WriterCommitMessage[] messages) {
        original.abort(messages);
    }

    public String toString() {
        return original.toString();
    }
}
