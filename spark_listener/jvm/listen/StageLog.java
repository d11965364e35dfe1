package headwater.listen;

import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;

/**
 * The stages of one SQL execution or of one job outside of SQL, with their tasks. The listener bus writes the log, and
 * the draining thread reads it, also while the execution runs. The log is bounded, and counts what exceeds the bound.
 */
final class StageLog {
    private static final int STAGES = 100;
    private static final int TASKS = 200;
    private static final int TASKS_OF_STAGE = 40;
    private static final int ANNOUNCED = 2000;

    private final Map<Integer, StageInfo> announced = new HashMap<>(); // Integer stage -> StageInfo of the job that may skip it
    private final Map<Object, Integer> makers = new HashMap<>(); // Integer shuffle -> Integer stage that ran for it
    private final Map<String, Map<String, Object>> stages = new LinkedHashMap<>(); // stage.attempt -> Map
    private int more; // stages
    private int tasks;

    /** A stage that a job may run; false if there are too many to remember. */
    synchronized boolean announce(StageInfo info) {
        if (announced.size() >= ANNOUNCED) {
            return false;
        }
        announced.put(info.stageId(), info);
        return true;
    }

    synchronized List<Integer> announced() {
        return new ArrayList<>(announced.keySet());
    }

    synchronized void began(StageInfo info) {
        Object shuffle = Scala.orNull(info.shuffleDepId());
        if (shuffle != null) {
            makers.put(shuffle, info.stageId());
        }
        if (stages.size() >= STAGES) {
            more++;
            return;
        }
        Map<String, Object> stage = Parts.of(
            "stage", info.stageId(), "attempt", info.attemptNumber(), "call", info.name(), "tasks", info.numTasks(),
            "failed", 0, "started", Scala.orNull(info.submissionTime()), "ended", null, "error", null,
            "shown", new ArrayList<>());
        stages.put(key(info.stageId(), info.attemptNumber()), stage);
    }

    synchronized void ended(StageInfo info) {
        Map<String, Object> stage = stages.get(key(info.stageId(), info.attemptNumber()));
        if (stage != null) {
            stage.put("started", Scala.orNull(info.submissionTime()));
            stage.put("ended", Scala.orNull(info.completionTime()));
            stage.put("error", Scala.orNull(info.failureReason()));
        }
    }

    synchronized void ended(int stageId, int attempt, TaskInfo info) {
        Map<String, Object> stage = stages.get(key(stageId, attempt));
        if (stage == null) {
            return;
        }
        if (!info.successful()) {
            stage.put("failed", ((Integer) stage.get("failed")) + 1);
        }
        List<Map<String, Object>> shown = Untyped.maps(stage.get("shown"));
        if (tasks >= TASKS || shown.size() >= TASKS_OF_STAGE) {
            return;
        }
        tasks++;
        Map<String, Object> task = Parts.of(
            "task", info.taskId(), "partition", info.index(), "attempt", info.attemptNumber(),
            "state", info.successful() ? "COMPLETE" : info.killed() ? "ABORT" : "FAIL", "started", info.launchTime(),
            "ended", info.finishTime());
        shown.add(task);
    }

    /**
     * All stages, each with the stages whose output it read. If a job skipped a stage because the shuffle existed, the
     * stage that made the shuffle is named.
     */
    synchronized Map<String, Object> describe() {
        List<Map<String, Object>> all = new ArrayList<>();
        for (Map<String, Object> value : stages.values()) { // copies: what runs goes on changing
            Map<String, Object> stage = new LinkedHashMap<>(value);
            stage.put("parents", parents((Integer) stage.get("stage")));
            stage.put("shown", new ArrayList<>(Untyped.maps(stage.get("shown"))));
            all.add(stage);
        }
        return Parts.of("stages", all, "more", more);
    }

    private List<Object> parents(Integer stage) {
        List<Object> result = new ArrayList<>();
        StageInfo info = announced.get(stage);
        List<Object> ids = info == null ? new ArrayList<>() : Scala.list(info.parentIds());
        for (Object id : ids) {
            StageInfo parent = announced.get(id);
            Object shuffle = parent == null ? null : Scala.orNull(parent.shuffleDepId());
            Object maker = shuffle == null ? null : makers.get(shuffle);
            if (maker != null && !result.contains(maker)) {
                result.add(maker);
            }
        }
        return result;
    }

    private static String key(int stage, int attempt) {
        return stage + "." + attempt;
    }
}
