package headwater.listen;

import headwater.shim.Parts;
import java.util.Map;

/** The SparkContext stopped. */
record ApplicationEnd(long time) implements Described {
    public Map<String, Object> describe() {
        return Parts.of("event", "application_end", "time", time);
    }
}
