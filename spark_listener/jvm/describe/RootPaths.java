package headwater.describe;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;

/** The folders and files that a scan was given, as text. */
public final class RootPaths {
    private RootPaths() {
    }

    /** Each path as text, in the order given. */
    public static List<Object> texts(List<Path> paths) {
        List<Object> result = new ArrayList<>();
        for (Path path : paths) {
            result.add(path.toString());
        }
        return result;
    }

    /** Adds the first path as `path` and, where there are more, all as `paths`. */
    static void put(List<Path> roots, Map<String, Object> result) {
        List<Object> paths = texts(roots);
        if (!paths.isEmpty()) {
            result.put("path", paths.get(0));
        }
        if (paths.size() > 1) {
            result.put("paths", paths);
        }
    }
}
