package headwater.write;

import org.apache.spark.sql.execution.datasources.BasicWriteJobStatsTracker;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.util.SerializableConfiguration;
import scala.collection.immutable.Map;

/** Spark's own job tracker, whose tasks also note runs of rows. */
public final class FileRunsJobTracker extends BasicWriteJobStatsTracker {
    private final SerializableConfiguration conf;
    private final String output;
    private final RowCheck check;

    public FileRunsJobTracker(SerializableConfiguration conf, Map<String, SQLMetric> metrics, String output, RowCheck check) {
        super(conf, metrics);
        this.conf = conf;
        this.output = output;
        this.check = check;
    }

    public WriteTaskStatsTracker newTaskInstance() {
        return new FileRunsTaskTracker(super.newTaskInstance(), conf.value(), output, check);
    }
}
