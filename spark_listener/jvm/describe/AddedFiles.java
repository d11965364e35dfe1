package headwater.describe;

import headwater.rewrite.core.Capture;
import headwater.shim.Parts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The files of a sink by the commit of its table. A task fills its files one after the other, and the commit states the
 * rows of each. A segment whose rows do not match these files is left out, and the capture reports it.
 */
final class AddedFiles {
    private static final int MOST_NUMBERED = 500;

    private AddedFiles() {}

    /** `files` are the files of the commit (TableCommit). */
    static List<Map<String, Object>> place(List<Map<String, Object>> segments, Map<Integer, List<Map<String, Object>>> files, List<Map<String, Object>> problems) {
        List<Map<String, Object>> result = new ArrayList<>();
        Set<Object> placed = new HashSet<>();
        for (Map<String, Object> segment : segments) {
            if (((Integer) segment.get("boundary")) != 0) {
                result.add(segment);
                continue;
            }
            Object partition = segment.get("partition");
            List<Map<String, Object>> own = files == null ? null : files.get(partition);
            if (own != null && rows(own) == ((Long) segment.get("rows"))) {
                placed.add(partition);
                result.add(placed(segment, own));
                continue;
            }
            String found = files == null ? "the table's commit is not known" : own == null ? "it added none" : "it added " + rows(own) + " rows";
            String reason = "which files the " + segment.get("rows") + " rows of task " + segment.get("attempt") + " went to is not known: " + found;
            problems.add(Capture.problemOf("Write", reason, "missing"));
        }
        if (files != null && placed.size() < files.size()) {
            problems.add(Capture.problemOf("Write", "the commit added files whose rows were not recorded", "missing"));
        }
        return result;
    }

    /** Adds to a sink the numbers of the first rows of its files, where the table numbers its rows and the files are few. */
    static void addNumbers(Map<Integer, List<Map<String, Object>>> files, Map<String, Object> sink) {
        List<Map<String, Object>> result = new ArrayList<>();
        for (List<Map<String, Object>> own : (files == null ? new HashMap<String, List<Map<String, Object>>>() : files).values()) {
            for (Map<String, Object> file : own) {
                if (file.containsKey("first")) {
                    Map<String, Object> entry = Parts.of(
                        "path", file.get("path"), "first", file.get("first"), "version", file.get("version"));
                    entry.put("added", file.get("version")); // in Delta, the commit that adds a file also numbers its rows
                    result.add(entry);
                }
            }
        }
        if (!result.isEmpty() && result.size() <= MOST_NUMBERED) {
            sink.put("numbered", result);
        }
    }

    private static Map<String, Object> placed(Map<String, Object> segment, List<Map<String, Object>> files) {
        List<Object> listed = new ArrayList<>();
        List<Object> runs = new ArrayList<>();
        for (int i = 0; i < files.size(); i++) {
            Map<String, Object> file = new LinkedHashMap<>(files.get(i));
            List<Object> run = new ArrayList<>();
            run.add(i);
            run.add(file.remove("rows"));
            file.remove("first");
            file.remove("version");
            listed.add(file);
            runs.add(run);
        }
        Map<String, Object> result = new LinkedHashMap<>(segment);
        result.put("files", listed);
        result.put("runs", runs);
        return result;
    }

    private static long rows(List<Map<String, Object>> files) {
        long result = 0L;
        for (Map<String, Object> file : files) {
            result += ((Long) file.get("rows"));
        }
        return result;
    }
}
