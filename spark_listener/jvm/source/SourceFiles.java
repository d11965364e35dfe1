package headwater.source;

import java.util.ArrayList;
import java.util.Collections;
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
    public static final class Entry {
        public final String path;
        public final long length;
        public final long modified;
        public final int ordinal;
        public final int ordinals;
        public final InternalRow partition;

        Entry(String path, long length, long modified, int ordinal, int ordinals, InternalRow partition) {
            this.path = path;
            this.length = length;
            this.modified = modified;
            this.ordinal = ordinal;
            this.ordinals = ordinals;
            this.partition = partition;
        }
    }

    public final int number;
    public final long unit; // no split is smaller; 0: records are numbered through the whole file, however it is split
    private final Map<String, SourceFiles.Entry> known = new HashMap<>(); // path, length and time -> Entry
    private final List<Entry> entries = new ArrayList<>();
    private long next;
    private boolean ambiguous;

    public SourceFiles(int number, long unit) {
        this.number = number;
        this.unit = unit;
    }

    /**
     * Gives ordinals to the files that have none yet, in order of their paths. `found` holds Object[] {FileStatus,
     * InternalRow, Boolean splitable}.
     */
    public synchronized void list(List<Object[]> found) {
        List<Object[]> fresh = new ArrayList<>();
        for (Object[] file : found) {
            if (!isKnown(file)) {
                fresh.add(file);
            }
        }
        Collections.sort(fresh, new ByPath());
        for (Object[] file : fresh) {
            FileStatus status = (FileStatus) file[0];
            if (isKnown(file)) {
                continue; // a path that a read names twice: its records count twice, and are the same
            }
            boolean split = unit > 0L && ((Boolean) file[2]);
            long ordinals = split ? 1L + status.getLen() / unit : 1L;
            if (next + ordinals > ORDINALS) { // the ids would not be unique: the taps write nothing, see overflow()
                next = ORDINALS;
            }
            int ordinal = (int) Math.min(next, ORDINALS - 1L);
            next += ordinals;
            Entry entry = new Entry(status.getPath().toString(), status.getLen(), status.getModificationTime(), ordinal, (int) ordinals, (InternalRow) file[1]);
            known.put(key(status), entry);
            entries.add(entry);
        }
    }

    private boolean isKnown(Object[] file) {
        Entry entry = known.get(key((FileStatus) file[0]));
        if (entry != null && entry.partition != null && file[1] != null && entry.partition.getClass() == file[1].getClass()) {
            ambiguous |= !entry.partition.equals(file[1]);
        }
        return entry != null;
    }

    public synchronized int ordinal(FileStatus status) {
        return known.get(key(status)).ordinal;
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

    private static final class ByPath implements Comparator<Object[]> {
        public int compare(Object[] left, Object[] right) {
            return path(left).compareTo(path(right));
        }

        private static String path(Object[] file) {
            return ((FileStatus) file[0]).getPath().toString();
        }
    }
}
