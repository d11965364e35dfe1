package headwater.tap;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * All taps of one task attempt, from the first tapped row to the end of the attempt. A successful attempt publishes its
 * segments, and a failed one deletes them. Segments of cached rows are published in any case.
 *
 * Generated code, Python evaluation and the file writer of one task may use different threads, so everything is
 * synchronized.
 */
public final class TaskTaps implements TaskCompletionListener {
    private static final ConcurrentHashMap<TaskContext, TaskTaps> RUNNING = new ConcurrentHashMap<>(); // of this JVM: TaskContext -> TaskTaps

    private final TaskContext context;
    private final Map<String, SegmentWriter> writers = new LinkedHashMap<>(); // String capture and boundary -> SegmentWriter: a task may fill a cache on its way
    private final List<Object[]> reported = new ArrayList<>(); // Object[] {Reports, Report}
    private FileRuns files;
    private BlockEncoder encoder;

    private TaskTaps(TaskContext context) {
        this.context = context;
    }

    public static TaskTaps of(TaskContext context) {
        TaskTaps taps = RUNNING.get(context);
        if (taps == null) {
            taps = new TaskTaps(context);
            TaskTaps earlier = RUNNING.putIfAbsent(context, taps);
            if (earlier != null) {
                return earlier;
            }
            context.addTaskCompletionListener((TaskCompletionListener) taps);
        }
        return taps;
    }

    /** A tap failed: its boundary is reported as missing for this task, and the job goes on. */
    static void fault(TaskContext context, SegmentSpec spec, Throwable cause) {
        try {
            TaskTaps.of(context).writer(spec).fail(cause);
        } catch (Throwable worse) {
            Report report = new Report(); // not even that: reported without a segment
            report.boundary = spec.boundary;
            report.fault = String.valueOf(worse);
            spec.reports.add(report);
        }
    }

    synchronized long[] open(TapSink sink, int length) {
        long[] buffer = new long[length];
        writer(sink.spec).open(buffer);
        return buffer;
    }

    synchronized long[] grow(TapSink sink, long[] buffer, int length) {
        return writer(sink.spec).grow(buffer, length);
    }

    synchronized void flush(TapSink sink, long[] buffer) {
        writer(sink.spec).flush(buffer);
    }

    /** The file writer is done: the rows of each file. */
    public synchronized void files(FileRuns runs) {
        files = runs;
    }

    /** Report to the driver if the task succeeds: a part of a file that the task reads, or a fault. */
    public synchronized void tell(Reports reports, Report report) {
        reported.add(new Object[] {reports, report});
    }

    public synchronized void onTaskCompletion(TaskContext ended) {
        RUNNING.remove(context);
        boolean succeeded = !ended.isFailed() && !ended.isInterrupted();
        for (SegmentWriter writer : writers.values()) {
            try {
                writer.finish(succeeded, files);
            } catch (Throwable fault) {
                writer.fail(fault);
                writer.report();
            }
        }
        if (encoder != null) {
            encoder.close();
        }
        for (int i = 0; i < reported.size(); i++) {
            Object[] pair = reported.get(i);
            if (succeeded || ((Reports) pair[0]).ofFailed) {
                ((Reports) pair[0]).add((Report) pair[1]);
            }
        }
    }

    private SegmentWriter writer(SegmentSpec spec) {
        String key = spec.capture + "/" + spec.boundary;
        SegmentWriter writer = writers.get(key);
        if (writer == null) {
            writer = new SegmentWriter(spec, context, this);
            writers.put(key, writer);
        }
        return writer;
    }

    BlockEncoder encoder() {
        if (encoder == null) {
            encoder = new BlockEncoder();
        }
        return encoder;
    }
}
