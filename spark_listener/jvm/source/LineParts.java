package headwater.source;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * Finds lines of a file by their numbers. It counts the ends of lines, eight bytes at a time, and decodes nothing: a
 * fraction of the work of a reader of lines. The search begins at the last mark before a line, and adds marks. Lines end as for
 * Hadoop: with LF, CR, or both.
 */
final class LineParts {
    /**
     * A part of a file as a split. The first line that its reader returns has the number `line`. The part contains the
     * wanted numbers from the place `from` to before the place `until`.
     */
    record Part(long start, long length, long line, int from, int until) {}

    private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long LOW = 0x7F7F7F7F7F7F7F7FL;
    private static final long LF = 0x0A0A0A0A0A0A0A0AL;
    private static final long CR = 0x0D0D0D0D0D0D0D0DL;
    private static final int BUFFER = 1 << 20;
    private static final int BLOCK = 1 << 12;
    private static final long GAP = 1L << 16; // bytes between two lines that are read together
    private static final long MOST = 500L; // parts of a file: each opens it

    private final long[] numbers;
    private final long gap;
    private final LineMarks marks;
    private final List<Part> parts = new ArrayList<>();
    private int at; // place of the next number to find
    private long line; // number of the line at `offset`
    private long offset;
    private boolean afterCr; // the last byte was a CR, whose line is counted at the next byte
    private int from = -1; // of the current part; -1: there is none
    private long start;
    private long first;
    private long last;

    private LineParts(long[] numbers, long gap, LineMarks marks) {
        this.numbers = numbers;
        this.gap = gap;
        this.marks = marks;
    }

    static List<Part> of(PartitionedFile file, long[] numbers, Configuration conf, LineMarks marks) throws IOException {
        LineParts found = new LineParts(numbers, Math.max(GAP, file.fileSize() / MOST), marks);
        try (FSDataInputStream bytes = file.toPath().getFileSystem(conf).open(file.toPath(), BUFFER)) {
            found.read(bytes);
        }
        marks.save();
        return found.parts;
    }

    private void read(FSDataInputStream bytes) throws IOException {
        byte[] buffer = new byte[BUFFER];
        note();
        while (at < numbers.length) {
            skip(bytes);
            int size = bytes.read(buffer);
            if (size < 0) {
                break;
            }
            for (int i = 0; i < size && at < numbers.length; i += BLOCK) {
                readBlock(buffer, i, Math.min(size, i + BLOCK));
            }
            if (at < numbers.length && !afterCr) {
                marks.add(offset, line);
            }
        }
        if (afterCr) {
            end(); // the line after it is empty and no record
        }
        close();
    }

    /** Go to the last mark before the next number. */
    private void skip(FSDataInputStream bytes) throws IOException {
        long[] mark = marks.before(numbers[at]);
        if (mark != null && mark[0] > offset) {
            bytes.seek(mark[0]);
            offset = mark[0];
            line = mark[1];
            afterCr = false; // a mark is never behind a CR
        }
    }

    private void readBlock(byte[] buffer, int begin, int end) {
        int ends = afterCr ? -1 : ends(buffer, begin, end);
        if (ends >= 0 && line + ends < numbers[at]) {
            line += ends;
            offset += end - begin;
            return;
        }
        for (int i = begin; i < end && at < numbers.length; i++) {
            byte one = buffer[i];
            if (afterCr && one != '\n') {
                end();
            }
            offset++;
            afterCr = one == '\r';
            if (one == '\n') {
                end();
            }
        }
    }

    /** The number of ends of lines; -1 if there is a CR. */
    private static int ends(byte[] buffer, int begin, int end) {
        int count = 0;
        int i = begin;
        for (; i + 8 <= end; i += 8) {
            long word = (long) WORD.get(buffer, i);
            if (zeros(word ^ CR) != 0L) {
                return -1;
            }
            count += Long.bitCount(zeros(word ^ LF));
        }
        for (; i < end; i++) {
            if (buffer[i] == '\r') {
                return -1;
            }
            count += buffer[i] == '\n' ? 1 : 0;
        }
        return count;
    }

    /** The highest bit of each byte that is zero. */
    private static long zeros(long word) {
        return ~((word & LOW) + LOW | word | LOW);
    }

    /** A line ends before `offset`. */
    private void end() {
        line++;
        note();
    }

    /** Begin or extend a part if the line at `offset` is wanted. */
    private void note() {
        if (at == numbers.length || numbers[at] != line) {
            return;
        }
        if (from >= 0 && offset - last > gap) {
            close();
        }
        if (from < 0) {
            from = at;
            start = offset;
            first = line;
        }
        last = offset;
        at++;
    }

    /** End the current part. A reader of a split leaves out its first line and reads all that begin up to its end. */
    private void close() {
        if (from >= 0) {
            long begin = Math.max(0L, start - 1L);
            long number = begin == 0L ? 0L : first; // the reader leaves out nothing at the beginning of a file
            parts.add(new Part(begin, Math.max(1L, last - begin), number, from, at));
            from = -1;
        }
    }
}
