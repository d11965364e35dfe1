package headwater.tap;

import com.github.luben.zstd.ZstdCompressCtx;
import java.util.zip.CRC32;
import org.apache.spark.unsafe.Platform;

/**
 * Turns rows of longs into a block of a segment (docs: capture format, section 4). Not thread-safe.
 *
 * Platform writes in the machine's byte order; the format is little-endian, as every machine that Spark is built for.
 */
final class BlockEncoder {
    private static final int LEVEL = 1;
    private static final int STORED_BLOCKS = 63; // after one that compressing did not halve; then it is tried again
    private static final int TELLING = 16384; // bytes of a column that are enough to decide about compression
    private static final int ROWS_HEADER = 6;
    private static final int COLUMN_HEADER = 10;
    private static final int FRAME = 64; // more than a frame takes by itself
    private static final int SAMPLE = 64; // rows of a column that are enough to choose its form
    private static final int PLAIN = 0;
    private static final int DIFFERENCES = 1;
    private static final int NUMBERED = 2;

    private final ZstdCompressCtx zstd = new ZstdCompressCtx();
    private final CRC32 crc = new CRC32();
    private final FewValues few = new FewValues();
    private int[] ends = new int[0]; // of the columns, in raw
    private byte[] raw = new byte[0];
    byte[] block = new byte[0]; // the result: header and compressed bytes, `length` of them
    int length;

    BlockEncoder() {
        zstd.setLevel(LEVEL);
    }

    /**
     * Encode `rows` rows of longs, from the index `from` on. `stored` is the state of a segment: for each column, the
     * number of further blocks without compression, because the last attempt saved little.
     */
    void encode(long[] data, int from, int rows, int[] stored) {
        int columns = stored.length;
        int need = ROWS_HEADER + columns * (COLUMN_HEADER + 8 * rows + 8 * FewValues.MOST);
        if (raw.length < need) {
            raw = new byte[need];
        }
        if (ends.length < columns) {
            ends = new int[columns];
        }
        putInt(raw, 0, rows);
        putShort(raw, 4, columns);
        int at = ROWS_HEADER;
        for (int column = 0; column < columns; column++) {
            at = column(data, from + column, columns, rows, at);
            ends[column] = at;
        }
        int bound = (int) com.github.luben.zstd.Zstd.compressBound((long) at) + 12 + FRAME * (2 * columns + 1);
        if (block.length < bound) {
            block = new byte[bound];
        }
        int compressed = compress(stored) - 12;
        crc.reset();
        crc.update(block, 12, compressed);
        putInt(block, 0, at);
        putInt(block, 4, compressed);
        putInt(block, 8, (int) crc.getValue());
        length = 12 + compressed;
    }

    void close() {
        zstd.close();
    }

    /**
     * A frame for what is eight bytes wide, hashes mostly, and frames for what stands between. Gives where the last one
     * ends in the block.
     */
    private int compress(int[] stored) {
        int to = 12;
        int done = 0;
        int begin = ROWS_HEADER;
        for (int column = 0; column < stored.length; column++) {
            int end = ends[column];
            if (raw[begin] == 8) {
                to = frame(done, begin, to);
                to = wide(begin, end, to, stored, column);
                done = end;
            }
            begin = end;
        }
        return frame(done, begin, to);
    }

    private int wide(int begin, int end, int to, int[] stored, int column) {
        if (stored[column] > 0) {
            stored[column]--;
            return StoredFrame.write(raw, begin, end, block, to);
        }
        int after = frame(begin, end, to);
        if (end - begin > TELLING && 2 * (after - to) > end - begin) {
            stored[column] = STORED_BLOCKS;
        }
        return after;
    }

    private int frame(int begin, int end, int to) {
        return begin == end ? to : to + zstd.compressByteArray(block, to, block.length - to, raw, begin, end - begin);
    }

    private int column(long[] data, int from, int stride, int rows, int at) {
        long first = data[from];
        int end = from + rows * stride;
        int sampled = Math.min(end, from + SAMPLE * stride);
        if (isWide(data, from, stride, sampled)) {
            return wideColumn(data, from, stride, rows, at, 0L);
        }
        boolean near = width(differences(data, from, stride, sampled)) <= 1; // references of rows as they are read: one look at each is enough
        int delta = width(near ? packBytes(data, from, stride, end, at + COLUMN_HEADER) : differences(data, from, stride, end));
        if (delta <= 1) { // they are packed; plain values are no narrower
            header(at, delta, DIFFERENCES, first);
            return at + COLUMN_HEADER + delta * rows;
        }
        long least = first;
        long most = first;
        for (int i = from; i < end; i += stride) {
            long value = data[i];
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
        int plain = width(most - least); // as unsigned: wraps where the span exceeds a long
        if (delta == 8 && plain == 8) {
            return wideColumn(data, from, stride, rows, at, least);
        }
        boolean deltas = delta < plain;
        int width = deltas ? delta : plain;
        long base = deltas ? first : least;
        header(at, width, deltas ? DIFFERENCES : PLAIN, base);
        pack(data, from, stride, end, at + COLUMN_HEADER, width, deltas, base);
        return at + COLUMN_HEADER + width * rows;
    }

    /** Neither values nor differences are narrower than eight bytes: they are numbered where they are few. */
    private int wideColumn(long[] data, int from, int stride, int rows, int at, long base) {
        int end = from + rows * stride;
        int values = few.write(data, from, stride, end, raw, at + COLUMN_HEADER);
        if (values > 0 && rows > 8 + 2 * values) { // else the values themselves are no longer
            header(at, 1, NUMBERED, (long) values);
            return at + COLUMN_HEADER + rows + 8 * values;
        }
        header(at, 8, PLAIN, base);
        packPlain(data, from, stride, end, at + COLUMN_HEADER, 8, base);
        return at + COLUMN_HEADER + 8 * rows;
    }

    /** Whether some of a column's rows need eight bytes in each form, which all of them then do. Most hashes end here. */
    private static boolean isWide(long[] data, int from, int stride, int end) {
        long least = data[from];
        long most = least;
        for (int i = from; i < end; i += stride) {
            long value = data[i];
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
        return width(most - least) == 8 && width(differences(data, from, stride, end)) == 8;
    }

    private void header(int at, int width, int form, long base) {
        raw[at] = (byte) width;
        raw[at + 1] = (byte) form;
        putLong(raw, at + 2, base);
    }

    /** The bits that any difference of neighbours needs. */
    private static long differences(long[] data, int from, int stride, int end) {
        long bits = 0L;
        long previous = data[from];
        for (int i = from; i < end; i += stride) {
            long value = data[i];
            bits |= zigzag(value - previous);
            previous = value;
        }
        return bits;
    }

    /** Writes differences that are hoped to fit in a byte; gives the bits that any of them needs. */
    private long packBytes(long[] data, int from, int stride, int end, int at) {
        byte[] into = raw;
        long bits = 0L;
        long previous = data[from];
        for (int i = from; i < end; i += stride) {
            long value = data[i];
            long difference = zigzag(value - previous);
            into[at++] = (byte) difference;
            bits |= difference;
            previous = value;
        }
        return bits;
    }

    /** A loop for each form: this is done for every row that is recorded. */
    private void pack(long[] data, int from, int stride, int end, int at, int width, boolean deltas, long base) {
        if (!deltas) {
            packPlain(data, from, stride, end, at, width, base);
            return;
        }
        byte[] into = raw;
        long previous = base;
        if (width == 2) {
            for (int i = from; i < end; i += stride) {
                long value = data[i];
                putShort(into, at, (int) zigzag(value - previous));
                previous = value;
                at += 2;
            }
        } else { // 4: of one byte they are packed already, and where 8 are needed plain values are no wider
            for (int i = from; i < end; i += stride) {
                long value = data[i];
                putInt(into, at, (int) zigzag(value - previous));
                previous = value;
                at += 4;
            }
        }
    }

    private void packPlain(long[] data, int from, int stride, int end, int at, int width, long base) {
        byte[] into = raw;
        for (int i = from; width == 8 && i < end; i += stride) {
            putLong(into, at, data[i] - base);
            at += 8;
        }
        for (int i = from; width == 4 && i < end; i += stride) {
            putInt(into, at, (int) (data[i] - base));
            at += 4;
        }
        for (int i = from; width == 2 && i < end; i += stride) {
            putShort(into, at, (int) (data[i] - base));
            at += 2;
        }
        for (int i = from; width == 1 && i < end; i += stride) {
            into[at++] = (byte) (data[i] - base);
        }
    }

    private static long zigzag(long value) {
        return (value << 1) ^ (value >> 63);
    }

    private static int width(long unsigned) {
        if (unsigned == 0L) {
            return 0;
        }
        int bits = 64 - Long.numberOfLeadingZeros(unsigned);
        return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
    }

    static void putInt(byte[] into, int at, int value) {
        Platform.putInt(into, Platform.BYTE_ARRAY_OFFSET + at, value);
    }

    private static void putShort(byte[] into, int at, int value) {
        Platform.putShort(into, Platform.BYTE_ARRAY_OFFSET + at, (short) value);
    }

    private static void putLong(byte[] into, int at, long value) {
        Platform.putLong(into, Platform.BYTE_ARRAY_OFFSET + at, value);
    }
}
