package headwater.listen;

import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.Map;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/** A SQL execution began. */
final class QueryStart implements Described {
    private final long execution;
    private final long time;
    private final String description;
    private final String details;
    private final Object root;
    private final String command;

    QueryStart(SparkListenerSQLExecutionStart event) { // the event itself holds the whole plan's text: not kept
        execution = event.executionId();
        time = event.time();
        description = event.description();
        details = event.details();
        root = Scala.orNull(event.rootExecutionId());
        command = event.sparkPlanInfo() == null ? "" : event.sparkPlanInfo().nodeName();
    }

    public Map<String, Object> describe() {
        Map<String, Object> result = Parts.of("event", "query_start", "execution", execution, "time", time);
        result.put("description", description); // the user's own, where there is one
        result.put("call", details == null ? "" : details.split("\n", 2)[0]); // the method of Spark that began it
        result.put("root", root);
        result.put("command", command); // the first operator of what runs: of a command, its name
        return result;
    }
}
