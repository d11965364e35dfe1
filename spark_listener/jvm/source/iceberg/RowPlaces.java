package headwater.source.iceberg;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/** The references of the rows that one task reads: the ordinal of the data file, and the position in the file. */
final class RowPlaces {
    static final long NONE = Long.MIN_VALUE;
    private static final long POSITIONS = 1L << 40;

    final int file; // the place of `_file` among the columns that are read; -1: the rows cannot be numbered
    final int position; // and of `_pos`
    private final NumberedTableReaders readers;
    private final Map<UTF8String, Integer> ordinals = new HashMap<>(); // UTF8String location -> Integer
    private UTF8String given; // the object that said the last one: Iceberg says the same of all rows of a file
    private UTF8String last;
    private long base = NONE;
    private boolean lost;

    RowPlaces(TablePart part, NumberedTableReaders readers) {
        this.file = part.file;
        this.position = part.position;
        this.readers = readers;
        for (int i = 0; i < part.locations.length; i++) {
            ordinals.put(UTF8String.fromString(part.locations[i]), part.ordinals[i]);
        }
    }

    /** The common part of the references to a file's rows, or NONE. */
    long base(UTF8String location) {
        if (given == null || given != location && !last.equals(location)) {
            Integer ordinal = location == null ? null : ordinals.get(location);
            if (ordinal == null) {
                lost("a row says that it is of " + location + ", which is not what the task reads");
            }
            last = location == null ? null : location.clone(); // its memory may be the reader's
            base = ordinal == null ? NONE : (long) ordinal.intValue() << 40;
        }
        given = location;
        return base;
    }

    long reference(long base, long position) {
        if (base == NONE) {
            return NONE;
        }
        if (position < 0L || position >= POSITIONS) {
            lost("a row says that its position is " + position);
            return NONE;
        }
        return base | position;
    }

    void lost(String reason) {
        if (!lost) {
            lost = true;
            readers.lost(reason);
        }
    }
}
