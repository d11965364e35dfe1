package headwater.source;

import java.net.URI;
import java.net.URLEncoder;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.Path;

/** The one spelling of schemes that lead to one store: Hadoop calls Amazon's `s3`, `s3a` and `s3n`, Azure's `abfs` and `abfss`. */
public final class OneSpelling {
    private static final List<?> AMAZON = Arrays.asList("s3", "s3a", "s3n");

    private OneSpelling() {}

    public static String scheme(String scheme) {
        return AMAZON.contains(scheme) ? "s3" : "abfs".equals(scheme) ? "abfss" : String.valueOf(scheme);
    }

    /** A path in that spelling: `s3://bucket/key`. */
    public static String of(String path) {
        int end = path.indexOf("://");
        return end < 0 ? path : scheme(path.substring(0, end)) + path.substring(end);
    }

    /**
     * The place of a path below a folder that represents all file systems: `/a/b`, or `/s3@bucket/key` for paths that
     * are not local.
     */
    public static String below(Path path) throws java.io.UnsupportedEncodingException {
        URI uri = path.toUri();
        boolean local = uri.getScheme() == null || uri.getScheme().equals("file");
        String store = local ? "" : "/" + scheme(uri.getScheme()) + "@" + URLEncoder.encode(String.valueOf(uri.getAuthority()), "UTF-8");
        return store + uri.getPath();
    }
}
