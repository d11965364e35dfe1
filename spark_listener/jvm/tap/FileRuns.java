package headwater.tap;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The file of each output row of a task, as runs of rows in the order of writing. */
public final class FileRuns {
    private final List<String> paths = new ArrayList<>(); // final paths
    private final List<Long> lengths = new ArrayList<>();
    private final List<Long> modified = new ArrayList<>();
    private RowRuns runs = new RowRuns(); // of files; null: there was a fault
    private boolean copied;
    private String fault;

    public int file(String path) {
        paths.add(path);
        lengths.add(null);
        modified.add(null);
        return paths.size() - 1;
    }

    /** The file is closed: this is what it has become. */
    public void closed(int file, long length, long time) {
        lengths.set(file, length);
        modified.set(file, time);
    }

    /** The files are on a store where a rename is a copy, so committed files have new times. */
    public void copied() {
        copied = true;
    }

    /** The final paths of such files; null where a rename changes nothing. */
    String[] copies() {
        return copied ? paths.toArray(new String[0]) : null;
    }

    public void row(int file) {
        rows(file, 1L);
    }

    /** The next rows, so many of them, went to this file. */
    public void rows(int file, long count) {
        if (fault != null) {
            return;
        }
        try {
            runs.add(file, count);
        } catch (IllegalStateException tooMany) {
            fail(tooMany.getMessage());
        }
    }

    /** The files of the rows are not known. Drop the collected runs. */
    public void fail(String reason) {
        runs = null;
        if (fault == null) {
            fault = reason;
        }
    }

    /** Adds `files` and `runs` to a footer. Throws where they do not account for each of the rows. */
    void describe(Map<String, Object> footer, long rows) {
        if (fault != null) {
            throw new IllegalStateException(fault);
        }
        List<Map<String, Object>> files = new ArrayList<>();
        for (int i = 0; i < paths.size(); i++) {
            if (lengths.get(i) == null) {
                throw new IllegalStateException("the length of " + paths.get(i) + " is not known");
            }
            Map<String, Object> file = new java.util.LinkedHashMap<>();
            file.put("path", paths.get(i));
            file.put("length", lengths.get(i));
            file.put("modified", modified.get(i));
            files.add(file);
        }
        long counted = 0L;
        for (int i = 0; i < runs.size(); i++) {
            counted += runs.count(i);
        }
        if (counted != rows) {
            throw new IllegalStateException("the file writer wrote " + counted + " rows, " + rows + " passed the tap");
        }
        footer.put("files", files);
        footer.put("runs", runs);
    }
}
