package headwater.listen;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.scheduler.TaskInfo;

/**
 * The stages of one SQL execution, or of one job outside of SQL, and their tasks, as Spark told them. The listener's bus writes it, one thread; the draining
 * thread reads it, also while that runs. Bounded; what is beyond is counted.
 */
final class StageLog {
    private static final int STAGES = 100;
    private static final int TASKS = 200;
    private static final int TASKS_OF_STAGE = 40;
    private static final int ANNOUNCED = 2000;

    private final Map announced = new HashMap(); // Integer stage -> StageInfo of the job that may skip it
    private final Map makers = new HashMap(); // Integer shuffle -> Integer stage that ran for it
    private final Map stages = new LinkedHashMap(); // stage.attempt -> Map
    private int more; // stages
    private int tasks;

    /** A stage that a job may run; false if there are too many to remember. */
    synchronized boolean announce(StageInfo info) {
        if (announced.size() >= ANNOUNCED) {
            return false;
        }
        announced.put(Integer.valueOf(info.stageId()), info);
        return true;
    }

    synchronized List announced() {
        return new ArrayList(announced.keySet());
    }

    synchronized void began(StageInfo info) {
        Object shuffle = Scala.orNull(info.shuffleDepId());
        if (shuffle != null) {
            makers.put(shuffle, Integer.valueOf(info.stageId()));
        }
        if (stages.size() >= STAGES) {
            more++;
            return;
        }
        Map stage = new LinkedHashMap();
        stage.put("stage", Integer.valueOf(info.stageId()));
        stage.put("attempt", Integer.valueOf(info.attemptNumber()));
        stage.put("call", info.name());
        stage.put("tasks", Integer.valueOf(info.numTasks()));
        stage.put("failed", Integer.valueOf(0));
        stage.put("started", Scala.orNull(info.submissionTime()));
        stage.put("ended", null);
        stage.put("error", null);
        stage.put("shown", new ArrayList());
        stages.put(key(info.stageId(), info.attemptNumber()), stage);
    }

    synchronized void ended(StageInfo info) {
        Map stage = (Map) stages.get(key(info.stageId(), info.attemptNumber()));
        if (stage != null) {
            stage.put("started", Scala.orNull(info.submissionTime()));
            stage.put("ended", Scala.orNull(info.completionTime()));
            stage.put("error", Scala.orNull(info.failureReason()));
        }
    }

    synchronized void ended(int stageId, int attempt, TaskInfo info) {
        Map stage = (Map) stages.get(key(stageId, attempt));
        if (stage == null) {
            return;
        }
        if (!info.successful()) {
            stage.put("failed", Integer.valueOf(((Integer) stage.get("failed")).intValue() + 1));
        }
        List shown = (List) stage.get("shown");
        if (tasks >= TASKS || shown.size() >= TASKS_OF_STAGE) {
            return;
        }
        tasks++;
        Map task = new LinkedHashMap();
        task.put("task", Long.valueOf(info.taskId()));
        task.put("partition", Integer.valueOf(info.index()));
        task.put("attempt", Integer.valueOf(info.attemptNumber()));
        task.put("state", info.successful() ? "COMPLETE" : info.killed() ? "ABORT" : "FAIL");
        task.put("started", Long.valueOf(info.launchTime()));
        task.put("ended", Long.valueOf(info.finishTime()));
        shown.add(task);
    }

    /** All stages, with those whose output each read: a stage that a job skipped, as its shuffle was there, is the one that made that. */
    synchronized Map describe() {
        List all = new ArrayList();
        Iterator each = stages.values().iterator();
        while (each.hasNext()) { // copies: what runs goes on changing
            Map stage = new LinkedHashMap((Map) each.next());
            stage.put("parents", parents((Integer) stage.get("stage")));
            stage.put("shown", new ArrayList((List) stage.get("shown")));
            all.add(stage);
        }
        Map result = new LinkedHashMap();
        result.put("stages", all);
        result.put("more", Integer.valueOf(more));
        return result;
    }

    private List parents(Integer stage) {
        List result = new ArrayList();
        StageInfo info = (StageInfo) announced.get(stage);
        List ids = info == null ? new ArrayList() : Scala.list(info.parentIds());
        for (int i = 0; i < ids.size(); i++) {
            StageInfo parent = (StageInfo) announced.get(ids.get(i));
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
