package headwater.listen;

import java.util.LinkedHashMap;
import java.util.Map;

/** The SparkContext stopped. */
final class ApplicationEnd implements Described {
    private final long time;

    ApplicationEnd(long time) {
        this.time = time;
    }

    public Map<String, Object> describe() {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("event", "application_end");
        result.put("time", time);
        return result;
    }
}
