package headwater.listen;

import java.util.LinkedHashMap;
import java.util.Map;

/** The SparkContext stopped. */
final class ApplicationEnd implements Described {
    private final long time;

    ApplicationEnd(long time) {
        this.time = time;
    }

    public Map describe() {
        Map result = new LinkedHashMap();
        result.put("event", "application_end");
        result.put("time", Long.valueOf(time));
        return result;
    }
}
