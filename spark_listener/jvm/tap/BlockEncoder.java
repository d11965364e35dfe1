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
    private static final int ROWS_HEADER = 6;
    private static final int COLUMN_HEADER = 10;

    private final ZstdCompressCtx zstd = new ZstdCompressCtx();
    private final CRC32 crc = new CRC32();
    private byte[] raw = new byte[0];
    byte[] block = new byte[0]; // the result: header and compressed bytes, `length` of them
    int length;

    BlockEncoder() {
        zstd.setLevel(LEVEL);
    }

    /** Encodes `rows` rows of `columns` longs that begin at `from`. */
    void encode(long[] data, int from, int rows, int columns) {
        int need = ROWS_HEADER + columns * (COLUMN_HEADER + 8 * rows);
        if (raw.length < need) {
            raw = new byte[need];
        }
        putInt(raw, 0, rows);
        putShort(raw, 4, columns);
        int at = ROWS_HEADER;
        for (int column = 0; column < columns; column++) {
            at = column(data, from + column, columns, rows, at);
        }
        int bound = (int) com.github.luben.zstd.Zstd.compressBound((long) at) + 12;
        if (block.length < bound) {
            block = new byte[bound];
        }
        int compressed = zstd.compressByteArray(block, 12, block.length - 12, raw, 0, at);
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

    private int column(long[] data, int from, int stride, int rows, int at) {
        long first = data[from];
        long least = first;
        long most = first;
        long previous = first;
        long zigzags = 0L; // the bits that any difference needs
        int end = from + rows * stride;
        for (int i = from; i < end; i += stride) {
            long value = data[i];
            least = Math.min(least, value);
            most = Math.max(most, value);
            zigzags |= zigzag(value - previous);
            previous = value;
        }
        int plain = width(most - least); // as unsigned: wraps where the span exceeds a long
        int delta = width(zigzags);
        boolean deltas = delta < plain;
        int width = deltas ? delta : plain;
        raw[at] = (byte) width;
        raw[at + 1] = (byte) (deltas ? 1 : 0);
        long base = deltas ? first : least;
        putLong(raw, at + 2, base);
        pack(data, from, stride, rows, at + COLUMN_HEADER, width, deltas, base);
        return at + COLUMN_HEADER + width * rows;
    }

    private void pack(long[] data, int from, int stride, int rows, int at, int width, boolean deltas, long base) {
        if (width == 0) {
            return;
        }
        long previous = base;
        int source = from;
        for (int row = 0; row < rows; row++) {
            long value = data[source];
            long number = deltas ? zigzag(value - previous) : value - base;
            previous = value;
            source += stride;
            if (width == 8) {
                putLong(raw, at, number);
            } else if (width == 4) {
                putInt(raw, at, (int) number);
            } else if (width == 2) {
                putShort(raw, at, (int) number);
            } else {
                raw[at] = (byte) number;
            }
            at += width;
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
