package headwater.listen;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.scheduler.JobFailed;
import org.apache.spark.scheduler.SparkListenerJobEnd;

/**
 * A Spark job outside of SQL has ended: its stages, what it saved for the program, and why it failed. `save` is null if
 * the program saved nothing, and `stages` if they are not known.
 */
record RddJob(SparkListenerJobEnd end, String save, StageLog stages) implements Described {
    public Map<String, Object> describe() {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("event", "rdd_job");
        result.put("job", end.jobId());
        result.put("time", end.time());
        result.put("save", save);
        result.put("error", end.jobResult() instanceof JobFailed jobFailed ? Failure.describe(jobFailed.exception(), null) : null);
        result.put("stages", stages == null ? null : stages.describe());
        return result;
    }
}
