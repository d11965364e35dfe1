package headwater.listen;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/** A SQL execution began. */
final class QueryStart implements Described {
    private final long execution;
    private final long time;
    private final String description;

    QueryStart(SparkListenerSQLExecutionStart event) { // the event itself holds the whole plan's text: not kept
        execution = event.executionId();
        time = event.time();
        description = event.description();
    }

    public Map describe() {
        Map result = new LinkedHashMap();
        result.put("event", "query_start");
        result.put("execution", Long.valueOf(execution));
        result.put("time", Long.valueOf(time));
        result.put("description", description);
        return result;
    }
}
