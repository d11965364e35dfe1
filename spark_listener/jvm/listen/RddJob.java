package headwater.listen;

import headwater.shim.Parts;
import java.util.Map;
import org.apache.spark.scheduler.JobFailed;
import org.apache.spark.scheduler.SparkListenerJobEnd;

/**
 * A Spark job outside of SQL has ended: its stages, what it saved for the program, and why it failed. `save` is null if
 * the program saved nothing, and `stages` if they are not known.
 */
record RddJob(SparkListenerJobEnd end, String save, StageLog stages) implements Described {
    public Map<String, Object> describe() {
        return Parts.of(
            "event", "rdd_job", "job", end.jobId(), "time", end.time(), "save", save,
            "error", end.jobResult() instanceof JobFailed jobFailed ? Failure.describe(jobFailed.exception(), null) : null,
            "stages", stages == null ? null : stages.describe());
    }
}
