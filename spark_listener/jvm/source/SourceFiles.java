package headwater.source;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The files of one source that a query listed, and their ordinals (docs: capture format, section 1). Every scan of the
 * query that reads the same folder in the same way shares one: Spark may reuse the exchange above one of them for all.
 */
public final class SourceFiles {
    private static final long ORDINALS = 1L << 23;

    /** A listed file. */
    public record Entry(String path, long length, long modified, int ordinal, int ordinals, InternalRow partition) {}

    /** A file in a listing that may have no ordinal yet. */
    public record Found(FileStatus status, InternalRow partition, boolean isSplitable) {
        private String path() {
            return status.getPath().toString();
        }
    }

    public final int number;
    public final long unit; // no split is smaller; 0: records are numbered through the whole file, however it is split
    private final Map<String, Entry> known = new HashMap<>(); // path, length and time -> Entry
    private final List<Entry> entries = new ArrayList<>();
    private long next;
    private boolean ambiguous;

    public SourceFiles(int number, long unit) {
        this.number = number;
        this.unit = unit;
    }

    /** Give ordinals to the files that have none yet, in order of their paths. */
    public synchronized void list(List<Found> found) {
        List<Found> fresh = new ArrayList<>();
        for (Found file : found) {
            if (!isKnown(file)) {
                fresh.add(file);
            }
        }
        fresh.sort(Comparator.comparing(Found::path));
        for (Found file : fresh) {
            FileStatus status = file.status();
            if (isKnown(file)) {
                continue; // a path that a read names twice: its records count twice, and are the same
            }
            boolean split = unit > 0L && file.isSplitable();
            long ordinals = split ? 1L + status.getLen() / unit : 1L;
            if (next + ordinals > ORDINALS) { // the ids would not be unique: the taps write nothing, see overflow()
                next = ORDINALS;
            }
            int ordinal = (int) Math.min(next, ORDINALS - 1L);
            next += ordinals;
            Entry entry = new Entry(file.path(), status.getLen(), status.getModificationTime(), ordinal, (int) ordinals, file.partition());
            known.put(key(status), entry);
            entries.add(entry);
        }
    }

    private boolean isKnown(Found file) {
        Entry entry = known.get(key(file.status()));
        if (entry != null && entry.partition() != null && file.partition() != null && entry.partition().getClass() == file.partition().getClass()) {
            ambiguous |= !entry.partition().equals(file.partition());
        }
        return entry != null;
    }

    public synchronized int ordinal(FileStatus status) {
        return known.get(key(status)).ordinal();
    }

    /** The files so far, by ordinal. */
    public synchronized List<Entry> entries() {
        return new ArrayList<>(entries);
    }

    /** Whether a file was listed in two partitions, so that a record of it has one value in a column of these, and another. */
    public synchronized boolean ambiguous() {
        return ambiguous;
    }

    /** Whether there were more splits than ordinals: then references are not unique, and the capture is worth nothing. */
    public synchronized boolean overflow() {
        return next > ORDINALS;
    }

    private static String key(FileStatus status) {
        return status.getPath().toString() + "\n" + status.getLen() + "\n" + status.getModificationTime();
    }
}
