package headwater.listen;

import java.util.LinkedHashMap;
import java.util.Map;

/** The SparkContext stopped. */
record ApplicationEnd(long time) implements Described {
    public Map<String, Object> describe() {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("event", "application_end");
        result.put("time", time);
        return result;
    }
}
