package headwater.listen;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.scheduler.JobFailed;
import org.apache.spark.scheduler.SparkListenerJobEnd;

/** A Spark job outside of SQL has ended: its stages, what it saved for the program, and why it failed. */
final class RddJob implements Described {
    private final SparkListenerJobEnd end;
    private final String save; // null: it saved nothing that the program said
    private final StageLog stages; // null: they are not known

    RddJob(SparkListenerJobEnd end, String save, StageLog stages) {
        this.end = end;
        this.save = save;
        this.stages = stages;
    }

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
