package headwater.rewrite.core;

import headwater.rewrite.kept.Caches;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkContext;

/** The captures that are under way in one application, and the circuit breaker: after a few faults nothing is rewritten any more. */
public final class Captures {
    private static final int FAULTS = 3;
    private static final int MOST = 1000; // queries at once; a capture beyond is not begun

    private final SparkContext context;
    private final String segments;
    private final double budget;
    private final ConcurrentHashMap<String, Capture> running = new ConcurrentHashMap<>(); // String execution -> Capture
    // execution -> its Capture, or the reason why there is none
    private final ConcurrentHashMap<String, Object> sources = new ConcurrentHashMap<>();
    private final AtomicInteger faults = new AtomicInteger();
    private volatile String lastFault;
    private volatile boolean closed;

    public Captures(SparkContext context, String segments, double budget) {
        this.budget = budget;
        this.context = context;
        this.segments = segments;
    }

    /** Seconds that a trace may take to find a group again instead of reading what was written of it. */
    public double budget() {
        return budget;
    }

    public boolean open() {
        return !closed && faults.get() < FAULTS;
    }

    /** Nothing is rewritten from now on; rules that stay in sessions do nothing. */
    public void close() {
        closed = true;
        running.clear();
        sources.clear();
        Caches.close(segments);
    }

    /** Notes why a capture is not made: what is refused is no fault. */
    void failed(Capture capture, Throwable reason) {
        if (reason instanceof Refused refused) {
            capture.problem(refused.operator, reason.getMessage(), "refused");
        } else {
            capture.problem("capture", String.valueOf(reason), "fault");
            fault(reason);
        }
    }

    public void fault(Throwable cause) {
        lastFault = String.valueOf(cause);
        faults.incrementAndGet();
    }

    /** Why capture was turned off; null while it is on. */
    public String closedBecause() {
        return faults.get() < FAULTS ? null : "capture was turned off after " + FAULTS + " faults; the last was: " + lastFault;
    }

    public SparkContext context() {
        return context;
    }

    public String segments() {
        return segments;
    }

    /** The SQL execution that this thread is in; null outside of one. */
    public String execution() {
        return context.getLocalProperty("spark.sql.execution.id");
    }

    /** The SQL execution of the program's that this thread is in: it may run others. */
    public String rootExecution() {
        return context.getLocalProperty("spark.sql.execution.root.id");
    }

    /** Whether this thread runs a batch of a stream. All executions of a batch have the same root, and the stream reports it. */
    boolean inStream() {
        return context.getLocalProperty("sql.streaming.queryId") != null;
    }

    /** False if this execution already has a capture. The plan must stay as it was then. */
    public boolean remember(String execution, Capture capture) {
        return running.size() < MOST && running.putIfAbsent(execution, capture) == null;
    }

    /** The capture of an execution that runs; null if it has none. */
    public Capture of(long execution) {
        return running.get(String.valueOf(execution));
    }

    /** Keeps what was captured of the source of a command, or why there is nothing, for as long as its execution runs. */
    void source(String execution, Object capture) {
        if (running.size() < MOST) {
            sources.put(execution, capture);
        }
    }

    Object source(String execution) {
        Object found = sources.get(execution);
        return found == null ? "it was checkpointed without capture" : found;
    }

    public Capture take(long execution) {
        sources.remove(String.valueOf(execution));
        return running.remove(String.valueOf(execution));
    }
}
