package headwater.tap;

import java.io.Serializable;
import java.util.function.Function;
import org.apache.spark.TaskContext;

/**
 * Receives the rows of a tap. Generated code uses it as a java.util.function.Function, so that it needs no class loader
 * of ours.
 *
 * apply(null) returns a new buffer. apply(buffer) takes a full buffer and returns the one to continue with. A buffer is
 * a long[]: [0] index of the next free place, [1] reference of the next row (windows increment it, others do not use
 * it), [2..] rows of `columns` longs. No call throws. A record that cannot be written is reported as missing, and the
 * job goes on.
 */
public final class TapSink implements Function<Object, Object>, Serializable {
    public static final int HEADER = 2;
    private static final int FIRST_ROWS = 512; // most tasks of small jobs never need more
    private static final int BLOCK_ROWS = 8192; // with what it is encoded to, a quarter of a second-level cache that the job needs too

    public final SegmentSpec spec;

    public TapSink(SegmentSpec spec) {
        this.spec = spec;
    }

    public Object apply(Object buffer) {
        return buffer == null ? open() : flush((long[]) buffer);
    }

    private long[] open() {
        TaskContext context = TaskContext.get();
        long[] buffer = null;
        if (counts(context)) {
            try {
                buffer = TaskTaps.of(context).open(this, HEADER + FIRST_ROWS * spec.columns);
            } catch (Throwable fault) {
                TaskTaps.fault(context, spec, fault);
            }
        }
        return buffer != null ? buffer : discard(new long[HEADER + FIRST_ROWS * spec.columns]);
    }

    private long[] flush(long[] buffer) {
        TaskContext context = TaskContext.get();
        if (!counts(context)) {
            return discard(buffer);
        }
        try {
            int rows = (buffer.length - HEADER) / spec.columns;
            if (rows < BLOCK_ROWS) {
                return TaskTaps.of(context).grow(this, buffer, HEADER + Math.min(rows * 8, BLOCK_ROWS) * spec.columns);
            }
            TaskTaps.of(context).flush(this, buffer);
            return buffer;
        } catch (Throwable fault) {
            TaskTaps.fault(context, spec, fault);
            return discard(buffer);
        }
    }

    /** Rows outside of a task, or that a thread still makes when its task has ended, are rows that nobody asked for. */
    private static boolean counts(TaskContext context) {
        return context != null && !context.isCompleted();
    }

    private static long[] discard(long[] buffer) {
        buffer[0] = HEADER;
        return buffer;
    }
}
