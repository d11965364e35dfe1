package headwater.listen;

import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
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
 * The RDDs that a job outside of SQL computes, down to those that read files. This runs on the listener bus when the
 * job begins, because the scheduler knows the RDD of a running job only. For a job that has ended by then, only the
 * names of the RDDs are known. The list is bounded.
 */
final class RddInputs {
    private static final int RDDS = 200;
    private static final int FILES = 64;
    private static final String FOLDERS = "mapreduce.input.fileinputformat.inputdir";

    private RddInputs() {}

    /**
     * {"id", "parents", "kind" (its class), and of those that read files "folders" (Hadoop's list) or "files"}; or
     * {"id", "parents", "name"}.
     */
    static List<Map<String, Object>> of(SparkListenerJobStart start, SparkContext context) {
        try {
            Object job = Scala.orNull(context.dagScheduler().jobIdToActiveJob().get(start.jobId()));
            if (job != null) {
                return walk(((ActiveJob) job).finalStage().rdd());
            }
        } catch (Throwable late) { // the scheduler's map changes meanwhile
            return named(start);
        }
        return named(start);
    }

    private static List<Map<String, Object>> walk(RDD<?> last) {
        List<Map<String, Object>> result = new ArrayList<>();
        Set<Integer> seen = new HashSet<>();
        ArrayDeque<RDD<?>> waiting = new ArrayDeque<>();
        waiting.add(last);
        while (!waiting.isEmpty()) {
            RDD<?> rdd = waiting.poll();
            if (!seen.add(rdd.id())) {
                continue;
            }
            Map<String, Object> described = Parts.of("id", rdd.id(), "kind", rdd.getClass().getSimpleName());
            result.add(described);
            if (result.size() > RDDS) {
                described.put("kind", "more");
                return result;
            }
            List<Integer> parents = new ArrayList<>();
            for (Dependency<?> dependency : Scala.list(rdd.dependencies())) {
                RDD<?> parent = dependency.rdd();
                parents.add(parent.id());
                waiting.add(parent);
            }
            described.put("parents", parents);
            read(rdd, described);
        }
        return result;
    }

    private static void read(RDD<?> rdd, Map<String, Object> described) {
        if (rdd instanceof HadoopRDD<?, ?> hadoopRDD) {
            described.put("folders", hadoopRDD.getJobConf().get(FOLDERS));
        } else if (rdd instanceof NewHadoopRDD<?, ?> newHadoopRDD) {
            described.put("folders", newHadoopRDD.getConf().get(FOLDERS));
        } else if (rdd instanceof FileScanRDD fileScanRDD) {
            List<String> files = new ArrayList<>();
            List<FilePartition> partitions = Scala.list(fileScanRDD.filePartitions());
            for (int i = 0; i < partitions.size() && files.size() <= FILES; i++) {
                PartitionedFile[] parts = partitions.get(i).files();
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

    private static List<Map<String, Object>> named(SparkListenerJobStart start) {
        List<Map<String, Object>> result = new ArrayList<>();
        Set<Integer> seen = new HashSet<>();
        for (StageInfo stage : Scala.list(start.stageInfos())) {
            List<RDDInfo> infos = Scala.list(stage.rddInfos());
            for (int j = 0; j < infos.size() && result.size() <= RDDS; j++) {
                RDDInfo info = infos.get(j);
                if (seen.add(info.id())) {
                    Map<String, Object> described = Parts.of(
                        "id", info.id(), "name", info.name(), "parents", Scala.list(info.parentIds()));
                    result.add(described);
                }
            }
        }
        return result;
    }
}
