package headwater.listen;

import headwater.shim.Scala;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/** A Spark job outside of SQL began, which saves nothing that the program said: an action of an RDD, or what a library does. */
final class RddJobStart implements Described {
    private final int job;
    private final long time;
    private final List rdds;
    private String name = ""; // what the job's stage is called, as "collect at wordcount.py:38"
    private String call = ""; // the method of Spark that began it

    private final boolean looks; // for a schema, before a DataFrame is made of an RDD
    private final boolean batch; // of a stream (DStreams)

    RddJobStart(SparkListenerJobStart start, List rdds, boolean looks, boolean batch) {
        this.looks = looks;
        this.batch = batch;
        job = start.jobId();
        time = start.time();
        this.rdds = rdds;
        int last = -1;
        List stages = Scala.list(start.stageInfos());
        for (int i = 0; i < stages.size(); i++) {
            StageInfo stage = (StageInfo) stages.get(i);
            if (stage.stageId() > last) { // that of the result is made after those that it needs
                last = stage.stageId();
                name = String.valueOf(stage.name());
                call = String.valueOf(stage.details()).split("\n", 2)[0];
            }
        }
    }

    public Map describe() {
        Map result = new LinkedHashMap();
        result.put("event", "rdd_job_start");
        result.put("job", Integer.valueOf(job));
        result.put("time", Long.valueOf(time));
        result.put("name", name);
        result.put("call", call);
        result.put("rdds", rdds);
        result.put("looks", Boolean.valueOf(looks));
        result.put("batch", Boolean.valueOf(batch));
        return result;
    }
}
