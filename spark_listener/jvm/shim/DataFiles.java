package headwater.shim;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** The properties of an Iceberg data file, through its accessors. Each throws if the accessor has no value. */
public final class DataFiles {
    private DataFiles() {}

    /** Where it lies, as the table says it: what the column `_file` holds of its rows. */
    public static String location(Object file) {
        Object location = Accessors.get(file, "location");
        return String.valueOf(location != null ? location : known(file, "path"));
    }

    public static String format(Object file) {
        return String.valueOf(known(file, "format"));
    }

    public static long length(Object file) {
        return ((Number) known(file, "fileSizeInBytes")).longValue();
    }

    public static long rows(Object file) {
        return ((Number) known(file, "recordCount")).longValue();
    }

    public static Object known(Object of, String name) {
        Object value = Accessors.get(of, name);
        if (value == null) {
            throw new IllegalStateException("Iceberg does not tell the " + name + " of what it reads or writes");
        }
        return value;
    }

    /** A location that has no scheme is one of the file system that is the default. */
    public static Path qualified(String location, Configuration conf) throws Exception {
        Path path = new Path(location);
        return path.toUri().getScheme() != null ? path : path.getFileSystem(conf).makeQualified(path);
    }
}
