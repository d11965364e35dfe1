package headwater.listen;

import headwater.shim.Scala;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.Dependency;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.NewHadoopRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.storage.RDDInfo;

/**
 * The RDDs that a job outside of SQL computes, down to those that read files. Runs on the listener's bus, as the job begins: the scheduler
 * knows its RDD as long as it runs. Of a job that is over by then, the names of the RDDs are known, and no more. Bounded.
 */
final class RddInputs {
    private static final int RDDS = 200;
    private static final int FILES = 64;
    private static final String FOLDERS = "mapreduce.input.fileinputformat.inputdir";

    private RddInputs() {}

    /** {"id", "parents", "kind" (its class), and of those that read files "folders" (Hadoop's list) or "files"}; or {"id", "parents", "name"}. */
    static List of(SparkListenerJobStart start, SparkContext context) {
        try {
            Object job = Scala.orNull(context.dagScheduler().jobIdToActiveJob().get(Integer.valueOf(start.jobId())));
            if (job != null) {
                return walk(((ActiveJob) job).finalStage().rdd());
            }
        } catch (Throwable late) { // the scheduler's map changes meanwhile
            return named(start);
        }
        return named(start);
    }

    private static List walk(RDD last) {
        List result = new ArrayList();
        Set seen = new HashSet();
        ArrayDeque waiting = new ArrayDeque();
        waiting.add(last);
        while (!waiting.isEmpty()) {
            RDD rdd = (RDD) waiting.poll();
            if (!seen.add(Integer.valueOf(rdd.id()))) {
                continue;
            }
            Map described = new LinkedHashMap();
            described.put("id", Integer.valueOf(rdd.id()));
            described.put("kind", rdd.getClass().getSimpleName());
            result.add(described);
            if (result.size() > RDDS) {
                described.put("kind", "more");
                return result;
            }
            List parents = new ArrayList();
            List dependencies = Scala.list(rdd.dependencies());
            for (int i = 0; i < dependencies.size(); i++) {
                RDD parent = ((Dependency) dependencies.get(i)).rdd();
                parents.add(Integer.valueOf(parent.id()));
                waiting.add(parent);
            }
            described.put("parents", parents);
            read(rdd, described);
        }
        return result;
    }

    private static void read(RDD rdd, Map described) {
        if (rdd instanceof HadoopRDD) {
            described.put("folders", ((HadoopRDD) rdd).getJobConf().get(FOLDERS));
        } else if (rdd instanceof NewHadoopRDD) {
            described.put("folders", ((NewHadoopRDD) rdd).getConf().get(FOLDERS));
        } else if (rdd instanceof FileScanRDD) {
            List files = new ArrayList();
            List partitions = Scala.list(((FileScanRDD) rdd).filePartitions());
            for (int i = 0; i < partitions.size() && files.size() <= FILES; i++) {
                PartitionedFile[] parts = ((FilePartition) partitions.get(i)).files();
                for (int j = 0; j < parts.length && files.size() <= FILES; j++) {
                    String path = parts[j].toPath().toString();
                    if (!files.contains(path)) {
                        files.add(path);
                    }
                }
            }
            described.put("files", files);
        }
    }

    private static List named(SparkListenerJobStart start) {
        List result = new ArrayList();
        Set seen = new HashSet();
        List stages = Scala.list(start.stageInfos());
        for (int i = 0; i < stages.size(); i++) {
            List infos = Scala.list(((StageInfo) stages.get(i)).rddInfos());
            for (int j = 0; j < infos.size() && result.size() <= RDDS; j++) {
                RDDInfo info = (RDDInfo) infos.get(j);
                if (seen.add(Integer.valueOf(info.id()))) {
                    Map described = new LinkedHashMap();
                    described.put("id", Integer.valueOf(info.id()));
                    described.put("name", info.name());
                    described.put("parents", Scala.list(info.parentIds()));
                    result.add(described);
                }
            }
        }
        return result;
    }
}
