package headwater.shim;

import java.io.IOException;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;

/** A connector's reader for a task, whose rows a subclass replaces. The metrics are the connector's own. */
abstract class ReaderWithMetrics<T> implements PartitionReader<T> {
    protected final PartitionReader<T> original;

    ReaderWithMetrics(PartitionReader<T> original) {
        this.original = original;
    }

    public boolean next() throws IOException {
        return original.next();
    }

    public CustomTaskMetric[] currentMetricsValues() {
        return original.currentMetricsValues();
    }

    public void close() throws IOException {
        original.close();
    }
}
