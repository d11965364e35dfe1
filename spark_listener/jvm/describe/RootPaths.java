package headwater.describe;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The folders and files that a scan was given, as text. */
public final class RootPaths {
    private RootPaths() {
    }

    /** Each path as text, in the order given. */
    public static List texts(List paths) {
        List result = new ArrayList();
        for (int i = 0; i < paths.size(); i++) {
            result.add(paths.get(i).toString());
        }
        return result;
    }

    /** Adds the first path as `path` and, where there are more, all as `paths`. */
    static void put(List roots, Map result) {
        List paths = texts(roots);
        if (!paths.isEmpty()) {
            result.put("path", paths.get(0));
        }
        if (paths.size() > 1) {
            result.put("paths", paths);
        }
    }
}
