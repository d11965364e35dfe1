package headwater.source;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongPredicate;

/**
 * A set of records by their references: the ordinal of the file, shifted by 40 bits, and the row. The rows of a file are
 * a bitmap, or a sorted array if they are few in a long file. Generated code uses the interface LongPredicate, which
 * every class loader knows.
 */
public final class ChosenRecords implements LongPredicate, java.io.Serializable {
    private static final int BITS = 40;
    private static final long ROW = (1L << BITS) - 1L;
    private static final long SPARSE = 256L; // above so many bits for each row, an array is smaller and fast enough

    private final Map<Integer, long[]> rows = new HashMap<>(); // ordinal -> sorted rows
    private transient FileRows current; // of the last question; scans read one file after the other

    public void add(int file, long[] numbers) {
        long[] known = rows.get(file);
        long[] all = known == null ? new long[0] : known;
        long[] merged = Arrays.copyOf(all, all.length + numbers.length);
        System.arraycopy(numbers, 0, merged, all.length, numbers.length);
        Arrays.sort(merged);
        rows.put(file, merged);
    }

    public boolean isEmpty() {
        return rows.isEmpty();
    }

    /** The reference after that of the last chosen record of a file. */
    public long end(int file) {
        long[] numbers = rows.get(file);
        long next = numbers == null || numbers.length == 0 ? 0L : numbers[numbers.length - 1] + 1L;
        return ((long) file << BITS) + next;
    }

    /** The rows of a file, ascending. */
    public long[] rows(int file) {
        long[] numbers = rows.get(file);
        return numbers == null ? new long[0] : numbers;
    }

    public boolean test(long reference) {
        if (reference < 0L) {
            return false;
        }
        int file = (int) (reference >> BITS);
        FileRows asked = current;
        if (asked == null || asked.file != file) {
            asked = new FileRows(file, rows(file));
            current = asked;
        }
        return asked.has(reference & ROW);
    }

    /** The rows of one file, prepared for questions. */
    private static final class FileRows {
        private final int file;
        private final long[] sorted;
        private final long[] bitmap; // null: there are few rows

        FileRows(int file, long[] sorted) {
            this.file = file;
            this.sorted = sorted;
            long last = sorted.length == 0 ? 0L : sorted[sorted.length - 1];
            bitmap = sorted.length > 0 && last / sorted.length < SPARSE && last >> 6 < Integer.MAX_VALUE - 8L ? new long[(int) (last >> 6) + 1] : null;
            for (int i = 0; bitmap != null && i < sorted.length; i++) {
                bitmap[(int) (sorted[i] >> 6)] |= 1L << sorted[i];
            }
        }

        boolean has(long row) {
            if (bitmap == null) {
                return Arrays.binarySearch(sorted, row) >= 0;
            }
            long word = row >> 6;
            return word < bitmap.length && (bitmap[(int) word] & (1L << row)) != 0L;
        }
    }

    public boolean equals(Object other) {
        if (!(other instanceof ChosenRecords records) || !records.rows.keySet().equals(rows.keySet())) {
            return false;
        }
        for (Map.Entry<Integer, long[]> file : rows.entrySet()) {
            if (!Arrays.equals(file.getValue(), records.rows.get(file.getKey()))) {
                return false;
            }
        }
        return true;
    }

    public int hashCode() {
        int code = 0;
        for (Map.Entry<Integer, long[]> file : rows.entrySet()) {
            code += 31 * file.getKey() + Arrays.hashCode(file.getValue());
        }
        return code;
    }

    /** Short: plans are printed often. */
    public String toString() {
        long count = 0L;
        for (long[] numbers : rows.values()) {
            count += numbers.length;
        }
        return count + " records of " + rows.size() + " files";
    }
}
