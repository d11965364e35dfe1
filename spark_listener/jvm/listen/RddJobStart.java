package headwater.listen;

import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/** The start of a Spark job outside of SQL that saves nothing: an action of an RDD, or a job of a library. */
final class RddJobStart implements Described {
    private final int job;
    private final long time;
    private final List<Map<String, Object>> rdds;
    private String name = ""; // what the job's stage is called, as "collect at wordcount.py:38"
    private String call = ""; // the method of Spark that began it

    private final boolean looks; // for a schema, before a DataFrame is made of an RDD
    private final boolean batch; // of a stream (DStreams)
    private final String description; // null: none

    RddJobStart(SparkListenerJobStart start, List<Map<String, Object>> rdds, boolean looks, boolean batch) {
        this.looks = looks;
        this.batch = batch;
        description = start.properties() == null ? null : start.properties().getProperty("spark.job.description");
        job = start.jobId();
        time = start.time();
        this.rdds = rdds;
        int last = -1;
        for (StageInfo stage : Scala.list(start.stageInfos())) {
            if (stage.stageId() > last) { // that of the result is made after those that it needs
                last = stage.stageId();
                name = String.valueOf(stage.name());
                call = String.valueOf(stage.details()).split("\n", 2)[0];
            }
        }
    }

    public Map<String, Object> describe() {
        return Parts.of(
            "event", "rdd_job_start", "job", job, "time", time, "name", name, "call", call, "rdds", rdds,
            "looks", looks, "batch", batch, "description", description);
    }
}
