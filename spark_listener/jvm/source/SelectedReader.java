package headwater.source;

import headwater.shim.Nodes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.SerializableConfiguration;
import scala.Function1;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** Reads some records of a file, in the executor. */
final class SelectedReader extends scala.runtime.AbstractFunction1<PartitionedFile, Iterator<InternalRow>> implements java.io.Serializable {
    private final Function1<PartitionedFile, Iterator<InternalRow>> all;
    private final Function1<PartitionedFile, Iterator<InternalRow>> counted; // gives every record
    private final HashMap<String, long[]> rows;
    private final boolean keeps;
    private final SerializableConfiguration lines; // null: a line is not a record, or all are read
    private final String marks; // folder of the marks of lines, or null

    SelectedReader(
        Function1<PartitionedFile, Iterator<InternalRow>> all, Function1<PartitionedFile, Iterator<InternalRow>> counted, HashMap<String, long[]> rows,
        boolean keeps, SerializableConfiguration lines, String marks) {
        this.all = all;
        this.counted = counted;
        this.rows = rows;
        this.keeps = keeps;
        this.lines = lines;
        this.marks = marks;
    }

    public Iterator<InternalRow> apply(PartitionedFile file) {
        long[] numbers = rows.get(file.toPath().toString());
        if (numbers == null) {
            return all.apply(file);
        }
        if (!keeps) {
            return new Others(counted.apply(file), numbers);
        }
        if (lines == null || isCompressed(file, lines.value())) {
            return new Kept(counted.apply(file), numbers, 0L, 0);
        }
        try {
            return new Parts(file, numbers, LineParts.of(file, numbers, lines.value(), LineMarks.of(file, marks)));
        } catch (IOException fault) {
            throw new UncheckedIOException("The lines of " + file.toPath() + " cannot be counted", fault);
        }
    }

    private static boolean isCompressed(PartitionedFile file, Configuration conf) {
        return new CompressionCodecFactory(conf).getCodec(file.toPath()) != null;
    }

    /** All records but those with the numbers. */
    private static final class Others extends AbstractIterator<InternalRow> {
        private final Iterator<InternalRow> original;
        private final long[] numbers;
        private int at;
        private long next;

        Others(Iterator<InternalRow> original, long[] numbers) {
            this.original = original;
            this.numbers = numbers;
        }

        public boolean hasNext() {
            while (at < numbers.length && next == numbers[at] && original.hasNext()) {
                original.next();
                next++;
                at++;
            }
            return original.hasNext();
        }

        public InternalRow next() {
            hasNext();
            next++;
            return original.next();
        }
    }

    /** The records with the numbers, of an iterator that begins at the record `next`. `at` is the first number to read. */
    private static final class Kept extends AbstractIterator<InternalRow> {
        private final Iterator<InternalRow> original;
        private final long[] numbers;
        private long next;
        private int at;

        Kept(Iterator<InternalRow> original, long[] numbers, long next, int at) {
            this.original = original;
            this.numbers = numbers;
            this.next = next;
            this.at = at;
        }

        public boolean hasNext() {
            if (at >= numbers.length) {
                return false;
            }
            for (; next < numbers[at] && original.hasNext(); next++) {
                original.next();
            }
            return original.hasNext();
        }

        public InternalRow next() {
            if (!hasNext()) {
                throw new java.util.NoSuchElementException();
            }
            next++;
            at++;
            return original.next();
        }
    }

    /** The records with the numbers, of parts of a file that contain them. */
    private final class Parts extends AbstractIterator<InternalRow> {
        private final PartitionedFile file;
        private final long[] numbers;
        private final List<LineParts.Part> parts;
        private int next;
        private Iterator<InternalRow> rows = new Kept(null, new long[0], 0L, 0);

        Parts(PartitionedFile file, long[] numbers, List<LineParts.Part> parts) {
            this.file = file;
            this.numbers = numbers;
            this.parts = parts;
        }

        public boolean hasNext() {
            while (!rows.hasNext() && next < parts.size()) {
                LineParts.Part part = parts.get(next++);
                long[] within = java.util.Arrays.copyOfRange(numbers, part.from(), part.until());
                rows = new Kept(counted.apply(Nodes.part(file, part.start(), part.length())), within, part.line(), 0);
            }
            return rows.hasNext();
        }

        public InternalRow next() {
            hasNext();
            return rows.next();
        }
    }
}
