package headwater.tap;

import java.util.AbstractList;
import java.util.Arrays;

/** Runs of rows: so many of one number, then so many of another. As a list, `long[] {number, count}` each. */
public final class RowRuns extends AbstractList<long[]> {
    private static final int MOST = 1 << 20; // 12 bytes each in the memory of the user's task, and as many in a footer

    private int[] numbers = new int[16];
    private long[] counts = new long[16];
    private int size;

    /** Add rows with this number. Throws if there are too many runs. */
    public void add(int number, long count) {
        if (size == 0 || numbers[size - 1] != number) {
            if (size == MOST) {
                throw new IllegalStateException("rows of many partitions came mixed: they change their file more than " + MOST + " times in a task");
            }
            if (size == numbers.length) {
                numbers = Arrays.copyOf(numbers, 2 * size);
                counts = Arrays.copyOf(counts, 2 * size);
            }
            numbers[size] = number;
            counts[size++] = 0L;
        }
        counts[size - 1] += count;
    }

    public int number(int run) {
        return numbers[run];
    }

    public long count(int run) {
        return counts[run];
    }

    public int size() {
        return size;
    }

    public long[] get(int run) {
        return new long[] {numbers[run], counts[run]};
    }
}
