package headwater.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Files as a run read them. Whoever reads one of them again compares it before and after, so that changed data is never
 * shown as lineage.
 */
public final class ReadAgain implements java.io.Serializable {
    /** Part of every message, so that Python recognizes the error. */
    public static final String CHANGED = "has changed since the run read it";
    private static final List<?> FINE = Arrays.asList("file", "hdfs", "webhdfs", "swebhdfs"); // schemes whose times are exact, as FINE_SCHEMES of graph/records/safe_names.py
    private static final int FEW = 3; // files of one folder that are asked for one by one

    private final HashMap<String, long[]> states; // path -> long[] {length, modified}
    private final SerializableConfiguration conf;

    /** `files` is a JSON object: {"file:/a/b": [length, time of modification in ms]}. */
    public ReadAgain(String files, Configuration conf) throws IOException {
        this(new HashMap<>(), new SerializableConfiguration(conf));
        Iterator<Map.Entry<String, JsonNode>> fields = new ObjectMapper().readTree(files).fields();
        while (fields.hasNext()) {
            Map.Entry<String, JsonNode> file = fields.next();
            JsonNode state = file.getValue();
            states.put(key(new Path(file.getKey())), new long[] {state.get(0).longValue(), state.get(1).longValue()});
        }
    }

    private ReadAgain(HashMap<String, long[]> states, SerializableConfiguration conf) {
        this.states = states;
        this.conf = conf;
    }

    /** The same files, looked at with another configuration. */
    ReadAgain by(SerializableConfiguration other) {
        return new ReadAgain(states, other);
    }

    /** Fails if one of the files is not what the run read; of others nothing is known. */
    public void check(Path path) {
        try {
            String difference = difference(path, statusOf(path));
            if (difference != null) {
                throw new IllegalStateException(message(path.toString(), difference));
            }
        } catch (IOException fault) {
            throw new UncheckedIOException(fault);
        }
    }

    /** A message for each file that is not what the run read. A folder with many of the files is listed once. */
    public List<String> changed() throws IOException {
        Map<Path, List<Path>> folders = new HashMap<>();
        for (String string : states.keySet()) {
            Path path = new Path(string);
            if (!folders.containsKey(path.getParent())) {
                folders.put(path.getParent(), new ArrayList<>());
            }
            folders.get(path.getParent()).add(path);
        }
        List<String> messages = new ArrayList<>();
        for (Map.Entry<Path, List<Path>> group : folders.entrySet()) {
            List<Path> files = group.getValue();
            Map<String, FileStatus> listed = files.size() > FEW ? listed(group.getKey()) : null;
            for (Path path : files) {
                String difference = difference(path, listed == null ? statusOf(path) : listed.get(key(path)));
                if (difference != null) {
                    messages.add(message(path.toString(), difference));
                }
            }
        }
        return messages;
    }

    private Map<String, FileStatus> listed(Path folder) throws IOException {
        Map<String, FileStatus> found = new HashMap<>();
        try {
            FileStatus[] statuses = folder.getFileSystem(conf.value()).listStatus(folder);
            for (FileStatus status : statuses) {
                found.put(key(status.getPath()), status);
            }
        } catch (FileNotFoundException gone) {
            return found;
        }
        return found;
    }

    private FileStatus statusOf(Path path) throws IOException {
        FileSystem system = path.getFileSystem(conf.value());
        try {
            return system.getFileStatus(path);
        } catch (FileNotFoundException gone) {
            return null;
        }
    }

    private String difference(Path path, FileStatus now) {
        long[] then = states.get(key(path));
        if (then == null) {
            return null; // nobody wants records of it
        }
        if (now == null) {
            return "it is gone";
        }
        String scheme = path.toUri().getScheme();
        long unit = scheme == null || FINE.contains(scheme) ? 1L : 1000L; // some answers of object stores have whole seconds only
        if (now.getLen() == then[0] && now.getModificationTime() / unit == then[1] / unit) {
            return null;
        }
        return "it had " + then[0] + " bytes, modified at " + then[1] + " ms; it has " + now.getLen() + ", at " + now.getModificationTime();
    }

    private static String key(Path path) {
        return path.toUri().getScheme() == null ? "file:" + path : path.toString();
    }

    private static String message(String path, String difference) {
        return path + " " + CHANGED + ": " + difference + ".";
    }
}
