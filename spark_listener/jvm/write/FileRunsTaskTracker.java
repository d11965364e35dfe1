package headwater.write;

import headwater.tap.FileRuns;
import headwater.tap.TaskTaps;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.WriteTaskStats;
import org.apache.spark.sql.execution.datasources.WriteTaskStatsTracker;

/**
 * Notes, in the task, each row's file in the order of writing, and what the file is when it is closed. Hadoop's
 * committers then only rename it: which changes neither length nor time, or, on object stores, the time alone (see
 * CommittedFiles).
 */
final class FileRunsTaskTracker implements WriteTaskStatsTracker {
    private static final Pattern STAGED = Pattern.compile("/_temporary/[^/]+/(?:_temporary/)?attempt_[^/]+/(.+)$");

    private static final List<?> RENAMING = Arrays.asList("file", "hdfs", "viewfs", "webhdfs", "swebhdfs", "abfs", "abfss");

    private final WriteTaskStatsTracker original;
    private final Configuration conf;
    private final String output;
    private final RowCheck check;
    private final FileRuns runs = new FileRuns();
    private final Map<String, Integer> numbers = new HashMap<>(); // staged path -> Integer
    private String currentPath;
    private int current;

    FileRunsTaskTracker(WriteTaskStatsTracker original, Configuration conf, String output, RowCheck check) {
        this.original = original;
        this.conf = conf;
        this.output = output;
        this.check = check;
    }

    public void newPartition(InternalRow values) {
        original.newPartition(values);
    }

    public void newFile(String path) {
        original.newFile(path);
        try {
            Matcher staged = STAGED.matcher(path);
            if (!staged.find()) {
                runs.fail("the committer stages its files where their final place cannot be told: " + path);
            }
            numbers.put(path, runs.file(staged.find(0) ? output + "/" + staged.group(1) : path));
        } catch (Throwable fault) {
            runs.fail(String.valueOf(fault));
        }
    }

    public void newRow(String path, InternalRow row) {
        original.newRow(path, row);
        if (path != currentPath) { // the writer passes the same String while it stays in a file
            Integer number = numbers.get(path);
            if (number == null) {
                runs.fail("a row went to a file that was not announced");
                return;
            }
            currentPath = path;
            current = number;
        }
        runs.row(current);
        String problem = check.problem(row);
        if (problem != null) {
            runs.fail(problem);
        }
    }

    public void closeFile(String path) {
        original.closeFile(path);
        Integer number = numbers.get(path);
        if (number == null) {
            return;
        }
        try {
            Path file = new Path(path);
            FileSystem files = file.getFileSystem(conf);
            FileStatus status = files.getFileStatus(file);
            if (!RENAMING.contains(files.getUri().getScheme())) {
                runs.copied();
            }
            runs.closed(number, status.getLen(), status.getModificationTime());
        } catch (Throwable fault) {
            runs.fail(String.valueOf(fault));
        }
    }

    public WriteTaskStats getFinalStats(long commitTime) {
        TaskContext context = TaskContext.get();
        if (context != null) {
            TaskTaps.of(context).files(runs);
        }
        return original.getFinalStats(commitTime);
    }
}
