package headwater.plain;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/**
 * The entry point of Python in a Spark without a jar of its own. Queries are reported by dataset, in the form of
 * `listen/CaptureBridge`. This class uses only what Spark 3.5 and 4 have in common, and only iterators of Scala's
 * collections.
 */
public final class PlainBridge extends SparkListener {
    private static final int MOST = 10000;
    private static final int EVENTS = 256; // a drain
    private static final Object WAKE = new Object(); // ends a poll, and is no event

    private final SparkContext context;
    private final LinkedBlockingQueue<Object> queue = new LinkedBlockingQueue<>(MOST);
    private final AtomicLong dropped = new AtomicLong();
    private final ObjectMapper json = new ObjectMapper();

    public PlainBridge(SparkContext context) {
        this.context = context;
        context.addSparkListener(this);
    }

    public void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof SparkListenerSQLExecutionStart) {
            offer(started((SparkListenerSQLExecutionStart) event)); // the event itself holds the whole plan's text
        } else if (event instanceof SparkListenerSQLExecutionEnd) {
            offer(event);
        } else if (event instanceof StreamingQueryListener.QueryStartedEvent) {
            offer(note("missing", "reason", "streams are not followed on this Spark, nor what they read and write"));
        }
    }

    public void onApplicationEnd(SparkListenerApplicationEnd end) {
        offer(note("application_end", "time", end.time()));
    }

    /** Events in their order, as a JSON list. Waits for the first one at most `milliseconds`. */
    public String drain(long milliseconds) throws Exception {
        List<Object> result = new ArrayList<>();
        Object event = queue.poll(milliseconds, TimeUnit.MILLISECONDS);
        while (event != null) {
            if (event != WAKE) {
                result.add(event instanceof SparkListenerSQLExecutionEnd ? ended((SparkListenerSQLExecutionEnd) event) : event);
            }
            event = result.size() < EVENTS ? queue.poll() : null;
        }
        long lost = dropped.getAndSet(0L);
        if (lost > 0L) {
            result.add(note("dropped", "count", lost));
        }
        return json.writeValueAsString(result);
    }

    /** Waits until the listener bus has delivered what was posted; false if that took longer than `milliseconds`. */
    public boolean flush(long milliseconds) {
        try {
            context.listenerBus().waitUntilEmpty(milliseconds);
            return true;
        } catch (Exception late) {
            return false; // a TimeoutException, which Scala does not declare
        }
    }

    /** Ends a drain that waits. */
    public void wake() {
        queue.offer(WAKE);
    }

    public void close() {
        context.removeSparkListener(this);
    }

    private static Map<String, Object> started(SparkListenerSQLExecutionStart event) {
        Map<String, Object> result = note("query_start", "execution", event.executionId());
        result.put("time", event.time());
        result.put("description", event.description());
        result.put("call", event.details() == null ? "" : event.details().split("\n", 2)[0]);
        result.put("root", event.rootExecutionId().isDefined() ? event.rootExecutionId().get() : null);
        result.put("command", event.sparkPlanInfo() == null ? "" : event.sparkPlanInfo().nodeName());
        return result;
    }

    private static Map<String, Object> ended(SparkListenerSQLExecutionEnd event) {
        Map<String, Object> result = note("query_end", "execution", event.executionId());
        result.put("time", event.time());
        result.put("stream", null);
        boolean failed = event.errorMessage().isDefined() && !String.valueOf(event.errorMessage().get()).isEmpty();
        result.put("error", failed ? note("error", "message", event.errorMessage().get()) : null);
        result.put("plan", null);
        result.put("capture", null);
        result.put("metrics", new LinkedHashMap<>());
        result.put("stages", null);
        List<Map<String, Object>> problems = new ArrayList<>();
        result.put("problems", problems);
        try {
            PlainPlan plan = event.qe() == null ? null : new PlainPlan(event.qe(), problems);
            result.put("plan", plan == null ? null : plan.parts());
            if (plan != null && !failed) {
                result.put("metrics", plan.metrics());
            }
        } catch (Throwable fault) { // the query is reported without its plan
            problems.add(PlainPlan.problem("the plan could not be described: " + fault));
        }
        return result;
    }

    private static Map<String, Object> note(String name, String key, Object value) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("event", name);
        result.put(key, value);
        return result;
    }

    private void offer(Object event) {
        if (!queue.offer(event)) {
            dropped.incrementAndGet();
        }
    }
}
