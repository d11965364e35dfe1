package headwater.describe;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;

/**
 * Whether a write in the mode `append` was the first write to a path, which Spark does not report. A write was the
 * first if the folder holds exactly the files that the query wrote, and none is older than the query. The folder is
 * listed after the query has ended, on our own thread, within limits. If the answer is not known, the write does not
 * count as the first.
 */
public final class FirstWrite {
    private static final long MOST = 1000L; // files that are looked at
    private static final long SECOND = 1000L; // stores that know no milliseconds know seconds

    private FirstWrite() {}

    /** `files`: how many the query has written, as Spark counted them; times are in milliseconds. */
    public static boolean made(LogicalPlan command, long files, long began, long ended, Configuration conf) {
        if (!(command instanceof InsertIntoHadoopFsRelationCommand write) || files <= 0L || files > MOST) {
            return false;
        }
        if (write.mode() != SaveMode.Append || write.catalogTable().isDefined()) {
            return false;
        }
        try {
            return count(write.outputPath(), began, ended, conf) == files;
        } catch (Exception unknown) { // it is gone already, or cannot be looked at
            return false;
        }
    }

    /** The files of the query's time; -1: there are older ones, or too many. */
    private static long count(Path folder, long began, long ended, Configuration conf) throws Exception {
        FileSystem files = folder.getFileSystem(conf);
        RemoteIterator<LocatedFileStatus> all = files.listFiles(folder, true);
        int depth = files.makeQualified(folder).depth();
        long found = 0L;
        for (long seen = 0L; all.hasNext(); seen++) {
            FileStatus file = all.next();
            if (seen >= MOST) {
                return -1L;
            }
            if (isHidden(file.getPath(), depth)) {
                continue;
            }
            long modified = file.getModificationTime();
            if (modified < (modified % SECOND == 0L ? began - began % SECOND : began)) {
                return -1L;
            }
            found += modified <= ended ? 1L : 0L; // others came later
        }
        return found;
    }

    /** Whether a file, or a folder that it is in below the dataset's, is one that readers of data leave alone. */
    private static boolean isHidden(Path file, int depth) {
        for (Path at = file; at != null && at.depth() > depth; at = at.getParent()) {
            String name = at.getName();
            if (name.startsWith(".") || (name.startsWith("_") && name.indexOf('=') < 0)) {
                return true;
            }
        }
        return false;
    }
}
