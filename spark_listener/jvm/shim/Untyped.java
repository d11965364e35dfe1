package headwater.shim;

import java.util.List;
import java.util.Map;

/** Casts that Java cannot check: parts of a description, and results of methods that are called by name. */
public final class Untyped {
    private Untyped() {}

    /** The value as the type that the caller expects. */
    @SuppressWarnings("unchecked")
    public static <T> T value(Object value) {
        return (T) value;
    }

    /** A part of a description that has parts itself. */
    public static Map<String, Object> map(Object part) {
        return value(part);
    }

    /** A part of a description that is a list of such parts. */
    public static List<Map<String, Object>> maps(Object part) {
        return value(part);
    }
}
