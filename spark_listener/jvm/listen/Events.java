package headwater.listen;

import headwater.describe.CatalogEvents;
import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Captures;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerStageSubmitted;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogEvent;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * Spark's events, queued for the draining thread. A callback only enqueues a reference, because plans are immutable and
 * can be described later. Stages and tasks are noted with a few fields each. The queue is bounded, and events that do
 * not fit are counted and reported.
 */
public final class Events extends SparkListener {
    private static final int MOST = 10000;
    private static final int SESSIONS = 100;
    private static final Described WAKE = new ApplicationEnd(0L); // ends a poll, and is no event
    private static final String NONE = "";
    private static final String SAVE = "headwater.save"; // set by spark_listener/rdd.py while an RDD is saved
    private static final String LOOK = "headwater.look"; // set there while PySpark looks for the schema of an RDD

    private final LinkedBlockingQueue<Described> queue = new LinkedBlockingQueue<>(MOST);
    private final AtomicLong dropped = new AtomicLong();
    // a job outside of SQL -> the save that it belongs to, or NONE
    private final ConcurrentHashMap<Integer, String> jobs = new ConcurrentHashMap<>();
    private final RunningStages stages = new RunningStages();
    private final ProgramValues values = new ProgramValues();
    private final Captures captures;
    private final DStreams dstreams;
    private final List<SparkSession> sessions = new CopyOnWriteArrayList<>(); // their streams are asked for what they are

    Events(Captures captures) {
        this.captures = captures;
        this.dstreams = new DStreams(captures.context().hadoopConfiguration());
    }

    /** A session whose streams are asked for what they are. */
    void adopt(SparkSession session) {
        if (sessions.size() < SESSIONS && !sessions.contains(session)) {
            sessions.add(session);
        }
    }

    public void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof SparkListenerSQLExecutionStart start) {
            stages.begin(start.executionId());
            offer(new QueryStart(start));
        } else if (event instanceof SparkListenerSQLExecutionEnd end) {
            StageLog ran = stages.take(end.executionId());
            offer(new QueryEnd(end, capture(end.executionId()), ran, values, captures.context().hadoopConfiguration()));
        } else if (event instanceof StreamingQueryListener.QueryStartedEvent queryStartedEvent) {
            offer(new StreamStart(queryStartedEvent, sessions));
        } else if (event instanceof StreamingQueryListener.QueryProgressEvent queryProgressEvent) {
            offer(new StreamProgress(queryProgressEvent.progress()));
        } else if (event instanceof StreamingQueryListener.QueryTerminatedEvent queryTerminatedEvent) {
            offer(new StreamEnd(queryTerminatedEvent));
        } else if (event instanceof ExternalCatalogEvent externalCatalogEvent) {
            CatalogEvents.add(externalCatalogEvent);
        } else {
            for (DStreams.OfStream ofStream : dstreams.described(event)) {
                offer((Described) ofStream);
            }
        }
    }

    public void onJobStart(SparkListenerJobStart start) {
        Properties properties = start.properties();
        String query = properties == null ? null : properties.getProperty("spark.sql.execution.id");
        String save = properties == null ? null : properties.getProperty(SAVE);
        if (query != null) {
            stages.began(start, Long.valueOf(query));
        } else if (jobs.size() < MOST) {
            jobs.put(start.jobId(), save == null ? NONE : save);
            stages.begin(ofJob(start.jobId()));
            stages.began(start, ofJob(start.jobId()));
            if (save == null) {
                boolean looks = properties != null && properties.getProperty(LOOK) != null;
                boolean batch = properties != null && properties.getProperty(DStreams.OPERATION) != null;
                offer(new RddJobStart(start, RddInputs.of(start, captures.context()), looks, batch));
            }
        } else {
            dropped.incrementAndGet();
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
        LateReports.take(ended);
    }

    public void onJobEnd(SparkListenerJobEnd end) {
        String save = jobs.remove(Integer.valueOf(end.jobId()));
        if (save != null) {
            offer(new RddJob(end, save.equals(NONE) ? null : save, stages.take(ofJob(end.jobId()))));
        }
    }

    public void onApplicationEnd(SparkListenerApplicationEnd end) {
        offer(new ApplicationEnd(end.time()));
    }

    /** The stages so far of an execution that runs; null if they are not known. */
    StageLog stages(long execution) {
        return stages.of(Long.valueOf(execution));
    }

    /** The next event; null if none came in time. */
    Described poll(long milliseconds) throws InterruptedException {
        Described event = queue.poll(milliseconds, TimeUnit.MILLISECONDS);
        while (event == WAKE) {
            event = queue.poll();
        }
        return event;
    }

    /** Ends a poll that waits. If the queue is full, no poll waits. */
    void wake() {
        queue.offer(WAKE);
    }

    /** The number of events that had no room since the last call. */
    long dropped() {
        return dropped.getAndSet(0L);
    }

    /** The capture of an execution that ended. A fault costs the capture, and not the event of the query's end. */
    private Capture capture(long execution) {
        try {
            return captures.take(execution);
        } catch (Throwable fault) {
            captures.fault(fault);
            return null;
        }
    }

    private static String ofJob(int job) {
        return "job " + job;
    }

    private void offer(Described event) {
        if (!queue.offer(event)) {
            dropped.incrementAndGet();
        }
    }
}
