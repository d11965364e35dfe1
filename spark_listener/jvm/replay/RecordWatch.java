package headwater.replay;

import com.fasterxml.jackson.databind.ObjectMapper;
import headwater.source.ChosenRecords;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongPredicate;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.TaskFailureListener;

/**
 * Chooses records like `ChosenRecords`, and notes at the end of each task which records the task has read of one scan. If
 * the task failed, the last record is the one that it was processing, or is near it: some operators read rows ahead.
 */
final class RecordWatch implements LongPredicate, java.io.Serializable {
    private static final int BITS = 40;
    private static final long ROW = (1L << BITS) - 1L;

    private final ChosenRecords kept; // null: all records
    private final String folder;
    private final int scan;
    private transient Notes notes; // each task has its own copy of this object

    RecordWatch(ChosenRecords kept, String folder, int scan) {
        this.kept = kept;
        this.folder = folder;
        this.scan = scan;
    }

    public boolean test(long reference) {
        if (kept != null && !kept.test(reference)) {
            return false;
        }
        if (notes == null) {
            notes = new Notes(folder, scan);
        }
        notes.add(reference);
        return true;
    }

    public boolean equals(Object other) {
        return other instanceof RecordWatch watch && watch.scan == scan && watch.folder.equals(folder);
    }

    public int hashCode() {
        return folder.hashCode() * 31 + scan;
    }

    public String toString() {
        return "watched " + (kept == null ? "records" : kept);
    }

    /** The records that one task has read, as a first row, a last row and a count for each file. */
    private static final class Notes implements TaskCompletionListener, TaskFailureListener {
        private final String folder;
        private final int scan;
        private final Map<Integer, long[]> files = new HashMap<>();
        private int file = -1;
        private long[] current;
        private int lastFile = -1;
        private long lastRow = -1L;
        private String error;

        Notes(String folder, int scan) {
            this.folder = folder;
            this.scan = scan;
            TaskContext task = TaskContext.get();
            if (task != null) {
                task.addTaskFailureListener((TaskFailureListener) this);
                task.addTaskCompletionListener((TaskCompletionListener) this);
            }
        }

        void add(long reference) {
            int ordinal = (int) (reference >> BITS);
            long row = reference & ROW;
            if (ordinal != file) {
                file = ordinal;
                current = files.computeIfAbsent(ordinal, each -> new long[] {row, row, 0L});
            }
            current[0] = Math.min(current[0], row);
            current[1] = Math.max(current[1], row);
            current[2]++;
            lastFile = ordinal;
            lastRow = row;
        }

        public void onTaskFailure(TaskContext task, Throwable failure) {
            if (!(failure instanceof TaskKilledException || failure instanceof InterruptedException)) {
                error = String.valueOf(failure);
            }
        }

        public void onTaskCompletion(TaskContext task) {
            Map<String, Object> note = new LinkedHashMap<>();
            note.put("scan", scan);
            note.put("stage", task.stageId());
            note.put("partition", task.partitionId());
            note.put("error", error);
            note.put("last", lastFile);
            note.put("lastRow", lastRow);
            List<Object> rows = new ArrayList<>();
            for (Map.Entry<Integer, long[]> each : files.entrySet()) {
                rows.add(new Object[] {each.getKey(), each.getValue()[0], each.getValue()[1], each.getValue()[2]});
            }
            note.put("rows", rows);
            try {
                Files.write(Paths.get(folder, scan + "-" + task.taskAttemptId() + ".json"), new ObjectMapper().writeValueAsBytes(note));
            } catch (IOException unwritable) {
                return; // the search for the record then knows less, and says so
            }
        }
    }
}
