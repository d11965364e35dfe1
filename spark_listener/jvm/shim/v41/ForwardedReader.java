package headwater.shim;

import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;

/** A connector's reader for a task, whose rows a subclass replaces. Spark 4.1 also passes the metrics of an earlier reader on. */
public abstract class ForwardedReader<T> extends ReaderWithMetrics<T> {
    protected ForwardedReader(PartitionReader<T> original) {
        super(original);
    }

    public void initMetricsValues(CustomTaskMetric[] metrics) {
        original.initMetricsValues(metrics);
    }
}
