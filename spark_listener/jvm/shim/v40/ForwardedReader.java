package headwater.shim;

import org.apache.spark.sql.connector.read.PartitionReader;

/** A connector's reader for a task, whose rows a subclass replaces. */
public abstract class ForwardedReader<T> extends ReaderWithMetrics<T> {
    protected ForwardedReader(PartitionReader<T> original) {
        super(original);
    }
}
