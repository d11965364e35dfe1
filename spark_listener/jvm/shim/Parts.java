package headwater.shim;

import java.util.LinkedHashMap;
import java.util.Map;

/** Parts of a description: names with values, which keep their order. */
public final class Parts {
    private Parts() {}

    /** A map of the given names, each followed by its value, which may be null. The caller may change the map. */
    public static Map<String, Object> of(Object... namesAndValues) {
        Map<String, Object> result = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            result.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return result;
    }
}
