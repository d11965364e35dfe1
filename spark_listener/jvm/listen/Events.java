package headwater.listen;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/**
 * Spark's events, queued for the draining thread. A callback only enqueues a reference: plans are immutable, and described later. Stages and
 * tasks are noted, a few fields each. The queue is bounded; what does not fit is counted and told.
 */
public final class Events extends SparkListener {
    private static final int MOST = 10000;

    private final LinkedBlockingQueue queue = new LinkedBlockingQueue(MOST);
    private final AtomicLong dropped = new AtomicLong();
    private final ConcurrentHashMap jobs = new ConcurrentHashMap(); // Integer -> SparkListenerJobStart, outside of SQL
    private final RunningStages stages = new RunningStages();
    private final Captures captures;

    Events(Captures captures) {
        this.captures = captures;
    }

    public void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof SparkListenerSQLExecutionStart) {
            stages.begin(((SparkListenerSQLExecutionStart) event).executionId());
            offer(new QueryStart((SparkListenerSQLExecutionStart) event));
        } else if (event instanceof SparkListenerSQLExecutionEnd) {
            SparkListenerSQLExecutionEnd end = (SparkListenerSQLExecutionEnd) event;
            StageLog ran = stages.take(end.executionId());
            offer(new QueryEnd(end, captures.take(end.executionId()), ran, captures.context().hadoopConfiguration()));
        }
    }

    public void onJobStart(SparkListenerJobStart start) {
        String query = start.properties() == null ? null : start.properties().getProperty("spark.sql.execution.id");
        if (query != null) {
            stages.began(start, query);
        } else if (jobs.size() < MOST) {
            jobs.put(Integer.valueOf(start.jobId()), start);
        }
    }

    public void onStageSubmitted(SparkListenerStageSubmitted began) {
        stages.began(began.stageInfo());
    }

    public void onStageCompleted(SparkListenerStageCompleted ended) {
        stages.ended(ended.stageInfo());
    }

    public void onTaskEnd(SparkListenerTaskEnd ended) {
        stages.ended(ended);
    }

    public void onJobEnd(SparkListenerJobEnd end) {
        SparkListenerJobStart start = (SparkListenerJobStart) jobs.remove(Integer.valueOf(end.jobId()));
        if (start != null) {
            offer(new RddJob(start, end));
        }
    }

    public void onApplicationEnd(SparkListenerApplicationEnd end) {
        offer(new ApplicationEnd(end.time()));
    }

    /** The next event; null if none came in time. */
    Described poll(long milliseconds) throws InterruptedException {
        return (Described) queue.poll(milliseconds, TimeUnit.MILLISECONDS);
    }

    /** How many events had no room since this was asked last. */
    long dropped() {
        return dropped.getAndSet(0L);
    }

    private void offer(Described event) {
        if (!queue.offer(event)) {
            dropped.incrementAndGet();
        }
    }
}
