package headwater.tap;

import org.apache.spark.unsafe.Platform;

/**
 * Numbers the values of a column of a block, where they are few: the hashes of some groups, which no difference makes
 * smaller. A small hash table, made once for a task.
 */
final class FewValues {
    static final int MOST = 256; // their numbers fit in a byte
    private static final int SLOTS = 1024;
    private static final int SHIFT = 54; // the upper ten bits of a product
    private static final long SPREAD = 0x9E3779B97F4A7C15L;

    private final short[] numbers = new short[SLOTS]; // by slot, from 1; 0: free
    private final long[] values = new long[MOST];
    private int size;

    /** Writes the number of each value, and after them the values. Gives how many there are; 0 where there are too many. */
    int write(long[] data, int from, int stride, int end, byte[] into, int at) {
        java.util.Arrays.fill(numbers, (short) 0);
        size = 0;
        long previous = ~data[from];
        int number = 0;
        for (int i = from; i < end; i += stride) {
            long value = data[i];
            if (value != previous) {
                number = number(value);
                previous = value;
                if (number == 0) {
                    return 0;
                }
            }
            into[at++] = (byte) (number - 1);
        }
        for (int i = 0; i < size; i++) {
            Platform.putLong(into, Platform.BYTE_ARRAY_OFFSET + at, values[i]);
            at += 8;
        }
        return size;
    }

    private int number(long value) {
        int slot = (int) ((value * SPREAD) >>> SHIFT);
        while (numbers[slot] != 0) {
            if (values[numbers[slot] - 1] == value) {
                return numbers[slot];
            }
            slot = (slot + 1) & (SLOTS - 1);
        }
        if (size == MOST) {
            return 0;
        }
        values[size++] = value;
        numbers[slot] = (short) size;
        return size;
    }
}
