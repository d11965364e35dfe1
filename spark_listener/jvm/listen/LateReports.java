package headwater.listen;

import headwater.shim.Scala;
import headwater.tap.Reports;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.util.AccumulatorContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * Reports of tasks that end after the scheduler has given up their job because another task failed. The scheduler
 * merges no accumulators of these tasks. But the rows that they cached stay, and are read.
 */
final class LateReports {
    private LateReports() {}

    static void take(SparkListenerTaskEnd ended) {
        TaskMetrics metrics = ended.taskMetrics();
        if (metrics == null) {
            return;
        }
        for (AccumulatorV2<?, ?> v2 : Scala.list(metrics._externalAccums())) {
            if (!(v2 instanceof Reports theirs)) {
                continue;
            }
            Object ours = theirs.ofFailed && !theirs.isMerged() ? Scala.orNull(AccumulatorContext.get(theirs.id())) : null;
            if (ours instanceof Reports reports) {
                reports.merge(theirs);
            }
        }
    }
}
