package headwater.listen;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.scheduler.JobFailed;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.storage.RDDInfo;

/** A Spark job outside of SQL. */
final class RddJob implements Described {
    private final SparkListenerJobStart start;
    private final SparkListenerJobEnd end;

    RddJob(SparkListenerJobStart start, SparkListenerJobEnd end) {
        this.start = start;
        this.end = end;
    }

    public Map describe() {
        Set stages = new LinkedHashSet();
        Set rdds = new LinkedHashSet();
        List infos = Scala.list(start.stageInfos());
        for (int i = 0; i < infos.size(); i++) {
            StageInfo stage = (StageInfo) infos.get(i);
            stages.add(stage.name());
            List all = Scala.list(stage.rddInfos());
            for (int j = 0; j < all.size(); j++) {
                rdds.add(((RDDInfo) all.get(j)).name());
            }
        }
        Map result = new LinkedHashMap();
        result.put("event", "rdd_job");
        result.put("job", Integer.valueOf(start.jobId()));
        result.put("time", Long.valueOf(start.time()));
        result.put("end_time", Long.valueOf(end.time()));
        result.put("error", end.jobResult() instanceof JobFailed ? String.valueOf(((JobFailed) end.jobResult()).exception()) : null);
        result.put("stages", new ArrayList(stages));
        result.put("rdds", new ArrayList(rdds));
        return result;
    }
}
