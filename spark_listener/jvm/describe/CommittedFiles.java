package headwater.describe;

import headwater.tap.Report;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The committed files of a sink on object stores, where a rename is a copy with a new modification time. The files are
 * looked up after the query has ended, on our own thread. The name of a file contains the id of the job that wrote it,
 * so the name is unique. A file that is missing keeps the time of its task, and no file is linked to it.
 */
final class CommittedFiles {
    private static final int FEW = 8; // of one folder: more are listed with it

    private CommittedFiles() {}

    /** A map for each file, `path`, `length`, `modified`; null where the times that the tasks saw are those of the files. */
    static List<Map<String, Object>> of(List<Report> counted, Configuration conf) {
        Map<Path, Set<Path>> folders = new LinkedHashMap<>();
        for (Report report : counted) {
            String[] copied = report.fault == null ? report.copied : null;
            for (int j = 0; copied != null && j < copied.length; j++) {
                Path path = new Path(copied[j]);
                Set<Path> paths = folders.get(path.getParent());
                if (paths == null) {
                    paths = new HashSet<>();
                    folders.put(path.getParent(), paths);
                }
                paths.add(path);
            }
        }
        List<Map<String, Object>> result = new ArrayList<>();
        for (Map.Entry<Path, Set<Path>> folder : folders.entrySet()) {
            try {
                add(folder.getKey(), folder.getValue(), conf, result);
            } catch (Exception gone) {
                // what cannot be looked at keeps the time that its task saw
            }
        }
        return folders.isEmpty() ? null : result;
    }

    private static void add(Path folder, Set<Path> paths, Configuration conf, List<Map<String, Object>> result) throws Exception {
        FileSystem files = folder.getFileSystem(conf);
        if (paths.size() > FEW) {
            FileStatus[] listed = files.listStatus(folder);
            for (FileStatus status : listed) {
                if (paths.contains(status.getPath())) {
                    result.add(described(status));
                }
            }
            return;
        }
        for (Path path : paths) {
            result.add(described(files.getFileStatus(path)));
        }
    }

    private static Map<String, Object> described(FileStatus status) {
        Map<String, Object> result = new HashMap<>();
        result.put("path", status.getPath().toString());
        result.put("length", status.getLen());
        result.put("modified", status.getModificationTime());
        return result;
    }
}
