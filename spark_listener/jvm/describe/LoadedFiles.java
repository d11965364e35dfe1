package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Parts;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;

/** LOAD DATA: files that a command moves or copies, as they are, into the folder of a table of Hive. */
public final class LoadedFiles {
    private static final String COMMAND = "org.apache.spark.sql.execution.command.LoadDataCommand";
    private static final String WILDCARDS = "*?[{";

    private LoadedFiles() {}

    private static boolean is(LogicalPlan command) {
        return command.getClass().getName().equals(COMMAND);
    }

    /** The table, and the partition where the command names one. */
    static Map<String, Object> sink(LogicalPlan command) {
        Map<String, Object> sink = Tables.lookup((TableIdentifier) Accessors.get(command, "table"));
        if (sink == null) {
            return null;
        }
        sink.put("mode", Boolean.TRUE.equals(Accessors.get(command, "isOverwrite")) ? "overwrite" : "append");
        Object partition = Scala.orNull((Option<?>) Accessors.get(command, "partition"));
        if (partition instanceof scala.collection.immutable.Map<?, ?> entries) {
            sink.put("static_partitions", Scala.map(entries));
        }
        return sink;
    }

    /** The file or folder that is loaded. Null for other commands. A pattern gives the folder that holds all possible matches. */
    static List<Map<String, Object>> sources(LogicalPlan command, Configuration conf) {
        if (!is(command)) {
            return null;
        }
        Map<String, Object> source = Parts.of(
            "source", 0, "path", withoutWildcards(qualified(command, conf)).toString());
        List<Map<String, Object>> result = new ArrayList<>();
        result.add(source);
        return result;
    }

    /** A relative path of this machine begins in the working folder, another in the home of the user, as Spark takes it. */
    private static Path qualified(LogicalPlan command, Configuration conf) {
        Path given = new Path((String) Accessors.get(command, "path"));
        if (Boolean.TRUE.equals(Accessors.get(command, "isLocal"))) {
            try {
                return given.makeQualified(FsConstants.LOCAL_FS_URI, FileContext.getLocalFSFileContext().getWorkingDirectory());
            } catch (Exception unknown) {
                return given;
            }
        }
        return given.makeQualified(org.apache.hadoop.fs.FileSystem.getDefaultUri(conf), new Path("/user/" + System.getProperty("user.name") + "/"));
    }

    /** A path, or the folder above the first part of it that is a pattern. */
    public static Path withoutWildcards(Path path) {
        Path result = path;
        for (Path at = path; at != null; at = at.getParent()) {
            for (int i = 0; i < WILDCARDS.length(); i++) {
                if (at.getName().indexOf(WILDCARDS.charAt(i)) >= 0 && at.getParent() != null) {
                    result = at.getParent();
                }
            }
        }
        return result;
    }
}
