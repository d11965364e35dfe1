package headwater.listen;

import headwater.shim.Scala;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;

/** The SQL execution or the job outside of SQL of each running stage. Only the listener bus writes it. Any thread may call `of`. */
final class RunningStages {
    private static final int MOST = 1000; // at once; the stages of one beyond are not known

    private final Map<Object, StageLog> logs = new ConcurrentHashMap<>(); // Long execution, or String of a job -> StageLog
    private final Map<Integer, StageLog> owners = new HashMap<>(); // Integer stage -> StageLog

    void begin(Object owner) {
        if (logs.size() < MOST) {
            logs.put(owner, new StageLog());
        }
    }

    void began(SparkListenerJobStart start, Object owner) {
        StageLog log = logs.get(owner);
        List<StageInfo> infos = log == null ? null : Scala.list(start.stageInfos());
        for (int i = 0; infos != null && i < infos.size(); i++) {
            StageInfo info = infos.get(i);
            if (log.announce(info)) {
                owners.put(info.stageId(), log);
            }
        }
    }

    void began(StageInfo info) {
        StageLog log = owners.get(info.stageId());
        if (log != null) {
            log.began(info);
        }
    }

    void ended(StageInfo info) {
        StageLog log = owners.get(info.stageId());
        if (log != null) {
            log.ended(info);
        }
    }

    void ended(SparkListenerTaskEnd end) {
        StageLog log = end.taskInfo() == null ? null : owners.get(end.stageId());
        if (log != null) {
            log.ended(end.stageId(), end.stageAttemptId(), end.taskInfo());
        }
    }

    /** The stages so far of what runs; null if they are not known. */
    StageLog of(Object owner) {
        return logs.get(owner);
    }

    /** The stages of what has ended; null if they are not known. */
    StageLog take(Object owner) {
        StageLog log = logs.remove(owner);
        List<Integer> ids = log == null ? null : log.announced();
        for (int i = 0; ids != null && i < ids.size(); i++) {
            owners.remove(ids.get(i), log); // another that shares the stage may have it by now
        }
        return log;
    }
}
