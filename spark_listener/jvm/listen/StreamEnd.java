package headwater.listen;

import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.Map;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/** A streaming query ended: by itself, stopped, or with an error. */
final class StreamEnd implements Described {
    private final StreamingQueryListener.QueryTerminatedEvent event;
    private final long time = System.currentTimeMillis(); // the event has none

    StreamEnd(StreamingQueryListener.QueryTerminatedEvent event) {
        this.event = event;
    }

    public Map<String, Object> describe() {
        Map<String, Object> result = Parts.of("event", "stream_end", "run", event.runId().toString(), "time", time);
        Object error = Scala.orNull(event.exception());
        result.put("error", error == null ? null : Failure.describe(null, String.valueOf(error)));
        return result;
    }
}
