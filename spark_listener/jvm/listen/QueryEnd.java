package headwater.listen;

import headwater.describe.CatalogEvents;
import headwater.describe.CommandSources;
import headwater.describe.FirstWrite;
import headwater.describe.Manifest;
import headwater.describe.PlanDescription;
import headwater.describe.TableChanges;
import headwater.rewrite.core.Capture;
import headwater.rewrite.delta.TableWrite;
import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.command.DataWritingCommand;
import org.apache.spark.sql.execution.command.DataWritingCommandExec;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.util.AccumulatorV2;

/** The end of a SQL execution: the query, its sink, and its capture. */
final class QueryEnd implements Described {
    private final SparkListenerSQLExecutionEnd event;
    private final Configuration conf;
    private final Capture capture; // null: its records are not captured
    private final StageLog stages; // null: they are not known
    private final ProgramValues values;
    private final Map<String, Object> changed; // the table that a command made, changed or dropped; null: none

    QueryEnd(SparkListenerSQLExecutionEnd event, Capture capture, StageLog stages, ProgramValues values, Configuration conf) {
        this.values = values;
        this.stages = stages;
        this.conf = conf;
        this.event = event;
        this.capture = capture;
        this.changed = changed();
    }

    /** Looked up now, and not when it is described: the next command may rename or drop the table. */
    private Map<String, Object> changed() {
        try {
            LogicalPlan executed = executed();
            Map<String, Object> table = executed instanceof Command ? TableChanges.describe(executed) : null;
            // a later command may drop the table, and the catalog's event for that comes before
            // this description
            CatalogEvents.state(table);
            return table;
        } catch (Throwable fault) {
            return null; // the command is reported without its table
        }
    }

    public Map<String, Object> describe() {
        Map<String, Object> result = Parts.of(
            "event", "query_end", "execution", event.executionId(), "time", event.time(),
            "stream", event.qe() == null ? null : StreamStart.runOf(event.qe()));
        Map<String, Object> error = error();
        result.put("error", error);
        result.put("plan", null);
        result.put("capture", null);
        result.put("metrics", new LinkedHashMap<>());
        result.put("stages", stages == null ? null : stages.describe());
        LogicalPlan executed = executed();
        LogicalPlan original = capture != null ? capture.original : executed;
        if (original == null) {
            return result;
        }
        if (original instanceof TableWrite tableWrite) {
            tableWrite.command = executed;
        }
        PlanDescription description;
        PlanDescription stated; // of the event: what the program said, also where a command runs queries of its own
        try {
            description = PlanDescription.of(original, capture);
            stated = original instanceof TableWrite && executed instanceof Command ? PlanDescription.of(executed, null) : description;
        } catch (Throwable fault) { // the query is reported without its plan
            List<Map<String, Object>> problems = new ArrayList<>();
            problems.add(Capture.problemOf("capture", "the plan could not be described: " + fault, "fault"));
            result.put("problems", problems);
            return result;
        }
        Map<String, Object> plan = stated.parts();
        if (stated != description) {
            keepVersion(Untyped.map(description.parts().get("sink")), Untyped.map(plan.get("sink")));
        }
        if (changed != null && plan.get("sink") == null) {
            plan.put("sink", changed);
        }
        List<Map<String, Object>> sources = (capture == null || stated != description) && executed != null ? CommandSources.of(executed, conf) : null;
        if (sources != null) {
            plan.put("sources", sources);
        }
        result.put("plan", plan);
        if (result.get("stream") != null) {
            result.put("given", given());
        }
        result.put("sql", sql());
        List<Map<String, Object>> ofVariables = error == null ? ofVariables() : new ArrayList<>();
        if (capture != null) {
            if (capture.rewritten && error == null) {
                lost();
            }
            Map<String, Object> manifest = Manifest.of(capture, description, event.executionId(), conf);
            boolean mayHold = mayHoldValues();
            manifest.put("collected", mayHold);
            if (mayHold) {
                manifest.put("collectedFrom", values.collected());
            }
            result.put("capture", manifest);
        }
        add(plan, ofVariables); // after the manifest is made, which has the sources of records alone
        if (error == null && executed instanceof DataWritingCommand) {
            Map<String, Object> metrics = metrics(event.qe().executedPlan());
            result.put("metrics", metrics);
            if (isIgnored(executed, metrics)) { // there was something already, and nothing was done
                plan.put("sink", null);
                plan.put("sources", new ArrayList<>());
                result.put("capture", null);
            } else if (isFirst(executed, metrics)) {
                plan.put("sink", new LinkedHashMap<>(Untyped.map(plan.get("sink")))); // the manifest has its own
                Untyped.map(plan.get("sink")).put("change", "CREATE");
            }
        }
        if (executed instanceof Union ownUnion) {
            several(ownUnion, error == null, result);
        }
        if (error == null) {
            noteValues(plan);
            result.put("read", read());
            result.put("observed", observed());
        }
        return result;
    }

    /** Keep the version of the table that a command made. Only the query that wrote it knows the version. */
    private static void keepVersion(Map<?, Object> written, Map<String, Object> stated) {
        if (written != null && stated != null && written.get("version") != null) {
            stated.put("version", written.get("version"));
        }
    }

    /** FROM … INSERT INTO … INSERT INTO …: report each command as `plan` and `metrics`, because the plan as a whole is no command. */
    private void several(Union commands, boolean isWell, Map<String, Object> result) {
        List<LogicalPlan> each = Scala.list(commands.children());
        List<SparkPlan> ran = isWell ? Scala.list(event.qe().executedPlan().children()) : new ArrayList<>();
        List<Map<String, Object>> parts = new ArrayList<>();
        for (int i = 0; i < each.size(); i++) {
            if (!(each.get(i) instanceof DataWritingCommand)) {
                return;
            }
            Map<String, Object> part = new LinkedHashMap<>();
            part.put("plan", PlanDescription.of(each.get(i), null).parts());
            part.put("metrics", ran.size() == each.size() ? metrics(ran.get(i)) : new LinkedHashMap<>());
            parts.add(part);
        }
        result.put("plan", parts.get(0).get("plan"));
        result.put("metrics", parts.get(0).get("metrics"));
        result.put("more", parts.subList(1, parts.size()));
    }

    /** Whether a write in the mode `ignore` found something. */
    private static boolean isIgnored(LogicalPlan executed, Map<String, Object> metrics) {
        boolean mayBe = executed instanceof InsertIntoHadoopFsRelationCommand insert && insert.mode() == SaveMode.Ignore;
        return mayBe && Long.valueOf(0L).equals(metrics.get("files"));
    }

    private boolean isFirst(LogicalPlan executed, Map<String, Object> metrics) {
        Object files = metrics.get("files");
        long nanos = event.duration();
        boolean isKnown = files instanceof Long && nanos > 0L;
        return isKnown && FirstWrite.made(executed, ((Long) files), event.time() - nanos / 1000000L - 1L, event.time(), conf);
    }

    private String sql() {
        try {
            return SqlText.of(event.qe().analyzed());
        } catch (Throwable none) {
            return null; // no plan, so no text
        }
    }

    /** The attributes of a batch's columns for a function of `foreachBatch`, in their order, from the plan as written. */
    private List<Long> given() {
        List<Long> result = new ArrayList<>();
        try {
            for (Attribute column : Scala.list(event.qe().analyzed().output())) {
                result.add(column.exprId().id());
            }
        } catch (Throwable none) {
            result.clear(); // what is written of the batch says that its columns are not known
        }
        return result;
    }

    /** The described sources of variables that the query names; its capture says that their records are missing. Never throws. */
    private List<Map<String, Object>> ofVariables() {
        try {
            return values.sources(values.report(event.qe().analyzed(), capture != null && capture.rewritten ? capture : null));
        } catch (Throwable fault) {
            if (capture != null) {
                capture.problem("VariableReference", "which values of variables it has could not be told: " + fault, "missing");
            }
            return new ArrayList<>();
        }
    }

    private boolean mayHoldValues() {
        try {
            return values.mayHold(event.qe().analyzed());
        } catch (Throwable fault) {
            return true;
        }
    }

    /** Sources of the plan, and others that none of its operators reads. */
    private static void add(Map<String, Object> plan, List<Map<String, Object>> others) {
        if (others.isEmpty()) {
            return;
        }
        List<Map<String, Object>> sources = plan.get("sources") == null ? new ArrayList<>() : new ArrayList<>(Untyped.maps(plan.get("sources")));
        for (Map<String, Object> source : others) {
            Map<String, Object> other = new LinkedHashMap<>(source);
            other.put("source", sources.size());
            sources.add(other);
        }
        plan.put("sources", sources);
    }

    /** Note the values that a query gave to variables or, if it wrote nothing, to the program. Never throws. */
    private void noteValues(Map<String, Object> plan) {
        try {
            values.note(event.qe().analyzed(), plan.get("sink") == null ? Scala.orNull(event.executionName()) : null, Untyped.maps(plan.get("sources")));
        } catch (Throwable fault) {
            // a query without a plan gave nothing
        }
    }

    private void lost() {
        lost(capture.original instanceof TableWrite ? null : event.qe().analyzed(), capture);
    }

    /** Says what the optimizer took out of a query that was `written` so; null: the capture knows. Never throws. */
    static void lost(LogicalPlan written, Capture capture) {
        try {
            LogicalPlan query = written == null ? capture.written() : written;
            LostScans.report(query, capture.original, capture);
            LostScans.report(capture.original, capture);
            LostWindows.report(query, capture.original, capture);
        } catch (Throwable fault) {
            capture.problem("Scan", "whether the optimizer took something out could not be told: " + fault, "missing");
        }
    }

    private Map<String, Object> error() {
        Throwable failure = Scala.orNull(event.executionFailure());
        String message = Scala.orNull(event.errorMessage());
        if (failure == null && (message == null || message.isEmpty())) {
            return null;
        }
        return Failure.describe(failure, message);
    }

    /**
     * The plan that ran, even if the query failed. Null if it failed before it had a plan. Spark keeps that failure, so
     * nothing is planned twice.
     */
    private LogicalPlan executed() {
        QueryExecution query = event.qe();
        if (query == null) {
            return null;
        }
        try {
            return query.optimizedPlan();
        } catch (Throwable none) {
            return null;
        }
    }

    private List<Map<String, Object>> read() {
        try {
            return InputRows.of(event.qe().executedPlan());
        } catch (Throwable unknown) {
            return null; // the sources are reported without counts
        }
    }

    /**
     * The numbers and truths that the program had Spark observe, by the name of the observation and theirs. Texts and
     * times stay where they are.
     */
    private Map<String, Map<String, Object>> observed() {
        Map<String, Map<String, Object>> result = new LinkedHashMap<>();
        try {
            for (Map.Entry<String, Row> entry : Scala.map(event.qe().observedMetrics()).entrySet()) {
                Row row = entry.getValue();
                Map<String, Object> values = new LinkedHashMap<>();
                for (int i = 0; i < row.length(); i++) {
                    Object value = row.get(i);
                    if (value instanceof Number || value instanceof Boolean) {
                        values.put(row.schema().apply(i).name(), value);
                    }
                }
                result.put(entry.getKey(), values);
            }
        } catch (Throwable unknown) {
            result.clear();
        }
        return result.isEmpty() ? null : result;
    }

    /** The counters of the writer. The counters belong to the executed plan, because planning works on a copy of the optimized plan. */
    private static Map<String, Object> metrics(Object executed) {
        Map<String, Object> result = new LinkedHashMap<>();
        Object root = executed;
        while (root instanceof AdaptiveSparkPlanExec || root instanceof QueryStageExec) { // adaptive execution wraps the command, too
            root = root instanceof AdaptiveSparkPlanExec adaptiveSparkPlanExec ? adaptiveSparkPlanExec.executedPlan() : ((QueryStageExec) root).plan();
        }
        if (root instanceof DataWritingCommandExec dataWritingCommandExec) {
            Map<String, SQLMetric> known = Scala.map(dataWritingCommandExec.cmd().metrics());
            put(result, "rows", known.get("numOutputRows"));
            put(result, "bytes", known.get("numOutputBytes"));
            put(result, "files", known.get("numFiles"));
        }
        return result;
    }

    static void put(Map<String, Object> result, String name, Object metric) {
        if (metric instanceof AccumulatorV2<?, ?> accumulatorV2) {
            result.put(name, accumulatorV2.value());
        }
    }
}
