package headwater.listen;

import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.describe.HandedParts;
import headwater.describe.PlanDescription;
import headwater.describe.TableColumns;
import headwater.rewrite.core.AdaptiveGuard;
import headwater.rewrite.core.Capture;
import headwater.rewrite.core.CaptureRule;
import headwater.rewrite.core.Captures;
import headwater.rewrite.core.GroupOrder;
import headwater.rewrite.core.ReadableRoots;
import headwater.rewrite.delta.TableWrite;
import headwater.rewrite.families.Families;
import headwater.rewrite.functions.EnclosedFunctions;
import headwater.rewrite.functions.GuardedFunctions;
import headwater.rewrite.functions.SetAsideRule;
import headwater.rewrite.scans.keyed.DeclaredKeys;
import headwater.rewrite.scans.keyed.ShortQuestion;
import headwater.rewrite.kept.Checkpoint;
import headwater.rewrite.kept.FrameHandover;
import headwater.rewrite.kept.RecordedRows;
import headwater.shim.Scala;
import headwater.source.HadoopFiles;
import headwater.tap.ThreadTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkStrategy;

/** The entry point of Python for one application. This class installs the listener and the rule, and returns events as JSON. */
public final class CaptureBridge {
    private static final int MOST = 256; // events a drain

    private final SparkContext context;
    private final Captures captures;
    private final Events events;
    private final CaptureRule rule; // null: records are not captured
    private final List<SparkStrategy> strategies = new ArrayList<>();
    private final ObjectMapper json = new ObjectMapper();
    private SetAsideRule setAside; // null: records that fail are not set aside
    private boolean breakerReported; // that the breaker opened
    private long describingNanos; // of processor time

    /** Listens to the context; the queries of a session are rewritten once it is adopted. */
    public CaptureBridge(SparkContext context, boolean records, String segments, double budget, List<String> readable, List<?> overwritten, Map<String, String> keys, double look) {
        this.context = context;
        ReadableRoots.state(new ArrayList<>(readable), new ArrayList<>(overwritten));
        DeclaredKeys.state(new HashMap<>(keys));
        ShortQuestion.state(look);
        captures = new Captures(context, segments, budget);
        events = new Events(captures);
        strategies.add(new AdaptiveGuard(captures));
        strategies.add(new GroupOrder(captures));
        rule = records ? new CaptureRule(captures, new Families()) : null;
        context.addSparkListener(events);
    }

    /** Set the code that encloses functions of groups, by kind, for all queries of this JVM, and its version. */
    public void functions(Map<?, byte[]> pickles, String version) {
        EnclosedFunctions.state(new HashMap<>(pickles), version);
    }

    /** Sets rows aside at which functions fail, in the sessions that are adopted from now on. */
    public void setAside(Map<?, byte[]> pickles, String version) {
        GuardedFunctions.state(new HashMap<>(pickles), version);
        setAside = new SetAsideRule();
    }

    /** The operators whose failing rows are not set aside, each with the reason, as JSON. */
    public String notSetAside() throws Exception {
        return json.writeValueAsString(setAside == null ? new ArrayList<>() : setAside.refused());
    }

    /** A session of the application. One that was cloned from an adopted session has the rule already. */
    public void adopt(SparkSession session) {
        events.adopt(session);
        if (setAside != null) {
            addSetAside(session);
        }
        if (rule == null) {
            return;
        }
        List<Rule<LogicalPlan>> rules = Scala.list(session.experimental().extraOptimizations());
        for (Rule<LogicalPlan> each : rules) {
            if (each instanceof CaptureRule) {
                return;
            }
        }
        rules.add(rule);
        session.experimental().extraOptimizations_$eq(Scala.seq(rules));
        List<SparkStrategy> extended = Scala.list(session.experimental().extraStrategies());
        extended.addAll(strategies);
        session.experimental().extraStrategies_$eq(Scala.seq(extended));
    }

    private void addSetAside(SparkSession session) {
        List<Rule<LogicalPlan>> rules = Scala.list(session.experimental().extraOptimizations());
        for (Rule<LogicalPlan> each : rules) {
            if (each instanceof SetAsideRule) {
                return;
            }
        }
        rules.add(0, setAside);
        session.experimental().extraOptimizations_$eq(Scala.seq(rules));
    }

    /** The replacement for a frame that is checkpointed. Null if there is nothing to record. Never throws. */
    public Checkpoint checkpoint(Dataset<?> frame) {
        return rule == null || !captures.open() ? null : Checkpoint.of(frame);
    }

    /** The replacement for the RDD of a frame. Null if there is nothing to record. Never throws. */
    public FrameHandover handedOver(Dataset<?> frame) {
        if (rule == null || !captures.open()) {
            return null;
        }
        FrameHandover handed = FrameHandover.of(frame);
        if (handed.capture() != null) {
            QueryEnd.lost(handed.written(), handed.capture());
        }
        return handed;
    }

    /** The records of a frame that became an RDD, as JSON (HandedParts). */
    public String parts(FrameHandover handed, int base, String capture) throws Exception {
        return json.writeValueAsString(HandedParts.of(handed, base, capture, context.hadoopConfiguration()));
    }

    /** A frame with the same columns over pairs of a row and its references. Null if the frame cannot be identified. */
    public Dataset<Row> recorded(Dataset<?> frame, RDD<Object> pairs, int top, List<Integer> operators) {
        return rule == null || !captures.open() ? null : RecordedRows.frame(frame, pairs, top, operators);
    }

    /** A plan as Spark has optimised it, as JSON: of rows that the program keeps or takes out of Spark's sight. Nothing runs. */
    public String described(LogicalPlan plan) throws Exception {
        return json.writeValueAsString(PlanDescription.of(plan, null).parts());
    }

    /** The files that an RDD reads, as lines or otherwise: JSON (HadoopFiles). */
    public String read(RDD<?> rdd, boolean lines) throws Exception {
        return HadoopFiles.read(rdd, lines, context.hadoopConfiguration());
    }

    /** The bytes that an RDD of files would read, by a short look (HadoopFiles). */
    public long bytes(RDD<?> rdd, long most) throws Exception {
        return HadoopFiles.bytes(rdd, most);
    }

    /** The files of a folder, as JSON (HadoopFiles). */
    public String written(String folder) throws Exception {
        return HadoopFiles.written(folder, context.hadoopConfiguration());
    }

    /** Events in their order, as a JSON list. Waits for the first one at most `milliseconds`. */
    public String drain(long milliseconds) throws Exception {
        List<Map<String, Object>> result = new ArrayList<>();
        Described event = events.poll(milliseconds);
        long began = ThreadTime.nanos();
        while (event != null && result.size() < MOST) {
            result.add(described(event));
            event = result.size() < MOST ? events.poll(0L) : null;
        }
        long dropped = events.dropped();
        if (dropped > 0L) {
            result.add(note("dropped", "count", dropped));
        }
        if (!breakerReported && captures.closedBecause() != null) {
            breakerReported = true;
            result.add(note("off", "reason", captures.closedBecause()));
        }
        String text = json.writeValueAsString(result);
        describingNanos += ThreadTime.nanos() - began;
        return text;
    }

    /**
     * The processor time that describing took so far: of plans, of what was captured of them, of stages. Asked by the
     * thread that drains.
     */
    public long describingNanos() {
        return describingNanos;
    }

    /** The columns of the tables that a read by JDBC names in its text, as the database states them: JSON, a list by table. */
    public String columns(String url, String dbtable, String query, String prepare, List<String> tables, int milliseconds) throws Exception {
        return json.writeValueAsString(TableColumns.of(url, dbtable, query, prepare, tables, milliseconds));
    }

    /** A running query (`plan`, as far as it is known before its end) and its `stages` so far, as JSON. Null if the query has ended. */
    public String running(long execution) throws Exception {
        QueryExecution query = SQLExecution.getQueryExecution(execution);
        if (query == null) {
            return null;
        }
        Map<String, Object> result = new LinkedHashMap<>();
        StageLog stages = events.stages(execution);
        result.put("stages", stages == null ? null : stages.describe());
        try {
            Capture capture = captures.of(execution);
            boolean stands = capture != null && !(capture.original instanceof TableWrite); // that is a query of a command, and its end knows which
            LogicalPlan plan = stands ? capture.original : query.optimizedPlan();
            result.put("plan", PlanDescription.of(plan, null).parts());
        } catch (Throwable fault) { // it has no plan, or none that can be described: its end says why
            result.put("plan", null);
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
        events.wake();
    }

    public void close() {
        context.removeSparkListener(events);
        captures.close();
    }

    private static Map<String, Object> described(Described event) {
        try {
            return event.describe();
        } catch (Throwable fault) {
            return note("fault", "reason", event.getClass().getSimpleName() + ": " + fault);
        }
    }

    private static Map<String, Object> note(String name, String key, Object value) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("event", name);
        result.put(key, value);
        return result;
    }
}
