package headwater.listen;

import headwater.describe.StreamText;
import headwater.shim.Accessors;
import headwater.shim.Parts;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/** A streaming query began: where it writes to, and whether it ends by itself, as the session's manager of streams knows it. */
final class StreamStart implements Described {
    private final StreamingQueryListener.QueryStartedEvent event;
    private String sink; // null: not known
    // the table of a connector or of files that the stream writes to. Null for files, or if the
    // place is not known
    private Map<String, Object> table;
    private boolean ends;

    StreamStart(StreamingQueryListener.QueryStartedEvent event, List<SparkSession> sessions) {
        this.event = event;
        for (int i = 0; i < sessions.size() && sink == null; i++) {
            look(sessions.get(i), event.id());
        }
    }

    /** The classes of streams lie in other packages from one version of Spark to the next: asked by their names. */
    private void look(SparkSession session, UUID id) {
        try {
            Object query = session.streams().get(id);
            Object stream = query == null ? null : asked(query, "streamingQuery");
            if (stream != null) {
                Object target = asked(stream, "sink");
                sink = String.valueOf(target);
                table = StreamText.sink(target, Accessors.field(stream, "extraOptions"));
                if (table == null) {
                    table = StreamText.table(Accessors.field(stream, "plan"));
                }
                String trigger = asked(stream, "trigger").getClass().getSimpleName();
                ends = trigger.startsWith("OneTime") || trigger.startsWith("AvailableNow");
            }
        } catch (Throwable unknown) {
            sink = null; // the stream has ended, or this Spark has another class for it: the first batch reports the sink
        }
    }

    static Object asked(Object of, String method) throws Exception {
        return of.getClass().getMethod(method).invoke(of);
    }

    public Map<String, Object> describe() {
        return Parts.of(
            "event", "stream_start", "run", event.runId().toString(), "name", event.name(), "time", event.timestamp(),
            "sink", sink, "table", table, "ends", ends);
    }

    /** The run of the stream that a query is a batch of; null for any other. */
    static String runOf(Object query) {
        try {
            return query.getClass().getSimpleName().equals("IncrementalExecution") ? String.valueOf(asked(query, "runId")) : null;
        } catch (Exception otherwise) {
            return null;
        }
    }
}
