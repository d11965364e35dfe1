package headwater.rewrite.core;

import headwater.source.OneSpelling;
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.Path;

/**
 * The places that traces can read later: local disks, and the roots that the program's settings name. Data elsewhere
 * must be written to segments, because no trace could read it again. The same holds for folders that known jobs
 * overwrite. An application has one set of roots.
 */
public final class ReadableRoots {
    private static volatile List<String> roots = Arrays.asList(); // scheme://authority/path
    private static volatile List<Object> overwritten = Arrays.asList(); // of String, paths of this machine

    private ReadableRoots() {}

    public static void state(List<String> given, List<Object> overwrittenPaths) {
        roots = given;
        overwritten = overwrittenPaths;
    }

    /** Whether a path lies below one, and no known job overwrites what is there. */
    public static boolean cover(Path path) {
        URI uri = path.toUri();
        if ("file".equals(uri.getScheme())) {
            return !isOverwritten(uri.getPath() + "/");
        }
        for (String root : roots) {
            URI place = new Path(root).toUri();
            boolean same = OneSpelling.scheme(place.getScheme()).equals(OneSpelling.scheme(uri.getScheme())) && String.valueOf(place.getAuthority()).equals(String.valueOf(uri.getAuthority()));
            String folder = place.getPath().endsWith("/") ? place.getPath() : place.getPath() + "/";
            if (same && (uri.getPath() + "/").startsWith(folder)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isOverwritten(String folder) {
        for (Object other : overwritten) {
            String below = other + "/";
            if (folder.startsWith(below) || below.startsWith(folder)) {
                return true;
            }
        }
        return false;
    }
}
