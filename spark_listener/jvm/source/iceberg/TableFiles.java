package headwater.source.iceberg;

import headwater.shim.Accessors;
import headwater.shim.DataFiles;
import headwater.source.SourceFiles;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;

/** The data files that tasks of Iceberg read. Their times are not known to the table: who describes them looks. */
public final class TableFiles {
    private TableFiles() {}

    /** The tasks (ScanTask) of a scan or of a group. Throws if they are not known. */
    public static List<Object> tasks(Object of) {
        Object tasks = Accessors.get(of, "tasks");
        if (tasks != null) {
            return new ArrayList<>((Collection<?>) tasks);
        }
        List<Object> all = new ArrayList<>();
        for (Object group : (Collection<?>) DataFiles.known(of, "taskGroups")) {
            all.addAll(tasks(group));
        }
        return all;
    }

    /** The data file of a task. */
    public static Object file(Object task) {
        return DataFiles.known(task, "file");
    }

    /** Gives the files of tasks ordinals, and gives these in the order of the tasks. */
    static int[] ordinals(List<Object> tasks, SourceFiles files, Configuration conf) throws Exception {
        List<SourceFiles.Found> found = new ArrayList<>();
        FileStatus[] statuses = new FileStatus[tasks.size()];
        for (int i = 0; i < statuses.length; i++) {
            Object file = file(tasks.get(i));
            statuses[i] = new FileStatus(DataFiles.length(file), false, 0, 0L, 0L, DataFiles.qualified(DataFiles.location(file), conf));
            found.add(new SourceFiles.Found(statuses[i], null, false));
        }
        files.list(found);
        int[] result = new int[statuses.length];
        for (int i = 0; i < statuses.length; i++) {
            result[i] = files.ordinal(statuses[i]);
        }
        return result;
    }
}
