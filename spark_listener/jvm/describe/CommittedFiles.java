package headwater.describe;

import headwater.tap.Report;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The files of a sink as its commit left them, on object stores, where a rename is a copy with a time of its own. Asked for after the
 * query has ended, off the program's threads. The name of a file has the id of the job that wrote it, so nobody else's has it; one that
 * is not there any more keeps the time that its task saw, and is linked to nothing.
 */
final class CommittedFiles {
    private static final int FEW = 8; // of one folder: more are listed with it

    private CommittedFiles() {}

    /** A map for each file, `path`, `length`, `modified`; null where the times that the tasks saw are those of the files. */
    static List of(List counted, Configuration conf) {
        Map folders = new LinkedHashMap(); // Path -> Set of Path
        for (int i = 0; i < counted.size(); i++) {
            Report report = (Report) counted.get(i);
            String[] copied = report.fault == null ? report.copied : null;
            for (int j = 0; copied != null && j < copied.length; j++) {
                Path path = new Path(copied[j]);
                Set paths = (Set) folders.get(path.getParent());
                if (paths == null) {
                    paths = new HashSet();
                    folders.put(path.getParent(), paths);
                }
                paths.add(path);
            }
        }
        List result = new ArrayList();
        Iterator all = folders.entrySet().iterator();
        while (all.hasNext()) {
            Map.Entry folder = (Map.Entry) all.next();
            try {
                add((Path) folder.getKey(), (Set) folder.getValue(), conf, result);
            } catch (Exception gone) {
                // what cannot be looked at keeps the time that its task saw
            }
        }
        return folders.isEmpty() ? null : result;
    }

    private static void add(Path folder, Set paths, Configuration conf, List result) throws Exception {
        FileSystem files = folder.getFileSystem(conf);
        if (paths.size() > FEW) {
            FileStatus[] listed = files.listStatus(folder);
            for (int i = 0; i < listed.length; i++) {
                if (paths.contains(listed[i].getPath())) {
                    result.add(described(listed[i]));
                }
            }
            return;
        }
        Iterator all = paths.iterator();
        while (all.hasNext()) {
            result.add(described(files.getFileStatus((Path) all.next())));
        }
    }

    private static Map described(FileStatus status) {
        Map result = new HashMap();
        result.put("path", status.getPath().toString());
        result.put("length", Long.valueOf(status.getLen()));
        result.put("modified", Long.valueOf(status.getModificationTime()));
        return result;
    }
}
