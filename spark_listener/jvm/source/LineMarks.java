package headwater.source;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * Places in a text file with the numbers of the lines there, about one for each megabyte that was counted. A folder
 * keeps the marks of each file. They hold as long as the length and the time of the file stay the same. The folder is a
 * cache: without it, or on another machine, the reader counts the lines again.
 */
final class LineMarks {
    private static final int MARK = 2 * Long.BYTES; // the first is the length and the time of the file
    private static final int MOST = 1 << 24; // bytes of kept marks

    private final Path kept; // null: nothing is kept
    private final long[] head;
    private final List<long[]> marks = new ArrayList<>(); // {offset, number of the line that contains it}, ascending
    private boolean isChanged;

    private LineMarks(Path kept, PartitionedFile file) {
        this.kept = kept;
        head = new long[] {file.fileSize(), file.modificationTime()};
    }

    /** The marks of a file in a folder. No folder, or one that does not exist here: no marks, and none are kept. */
    static LineMarks of(PartitionedFile file, String folder) {
        boolean keeps = folder != null && Files.isDirectory(Paths.get(folder));
        String name = UUID.nameUUIDFromBytes(file.toPath().toString().getBytes(StandardCharsets.UTF_8)).toString();
        LineMarks marks = new LineMarks(keeps ? Paths.get(folder, name) : null, file);
        marks.load();
        return marks;
    }

    private void load() {
        try {
            if (kept == null || !Files.exists(kept) || Files.size(kept) > MOST) {
                return;
            }
            ByteBuffer stored = ByteBuffer.wrap(Files.readAllBytes(kept));
            if (stored.remaining() % MARK != 0 || stored.remaining() == 0 || stored.getLong() != head[0] || stored.getLong() != head[1]) {
                return;
            }
            while (stored.hasRemaining()) {
                marks.add(new long[] {stored.getLong(), stored.getLong()});
            }
        } catch (IOException unreadable) {
            marks.clear(); // the lines are counted again
        }
    }

    /** The last mark before the beginning of a line. Null if there is none. */
    long[] before(long line) {
        int low = 0;
        int high = marks.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (marks.get(middle)[1] < line) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low == 0 ? null : marks.get(low - 1);
    }

    /** Note the number of the line that contains an offset. */
    void add(long offset, long line) {
        if (marks.isEmpty() || offset > marks.get(marks.size() - 1)[0]) {
            marks.add(new long[] {offset, line});
            isChanged = true;
        }
    }

    /** Keep the marks, if there are new ones. A fault loses only time. */
    void save() {
        if (kept == null || !isChanged || (long) (marks.size() + 1) * MARK > MOST) {
            return;
        }
        ByteBuffer stored = ByteBuffer.allocate((marks.size() + 1) * MARK).putLong(head[0]).putLong(head[1]);
        for (long[] mark : marks) {
            stored.putLong(mark[0]).putLong(mark[1]);
        }
        Path draft = kept.resolveSibling(UUID.randomUUID() + ".tmp");
        try {
            Files.write(draft, stored.array());
            Files.move(draft, kept, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException unwritable) {
            draft.toFile().delete();
        }
    }
}
