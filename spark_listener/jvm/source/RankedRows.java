package headwater.source;

import java.io.Closeable;
import java.io.IOException;
import java.util.NoSuchElementException;
import java.util.function.LongPredicate;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowJoiner;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The records of a split, counted. Every record that the reader gives counts, whether or not a filter above lets it pass. */
final class RankedRows extends AbstractIterator<InternalRow> implements Closeable {
    private final Iterator<InternalRow> original;
    private final SpecificInternalRow tail; // the reference, then the partition values
    private final UnsafeProjection projection;
    private final UnsafeRow binaryTail;
    private final UnsafeRowJoiner joiner; // null if the columns are not in the order in which a copy of bytes has them
    private final JoinedRow row = new JoinedRow();
    private long next;
    private LongPredicate chosen; // null: all records are read
    private long end = Long.MAX_VALUE; // the reference after that of the last record to read
    private InternalRow found; // a chosen record that was not returned yet

    /** @param binaryTail the tail in Spark's binary form, whose first column is overwritten; null without a joiner */
    RankedRows(Iterator<InternalRow> original, SpecificInternalRow tail, long first, UnsafeProjection projection, UnsafeRow binaryTail, UnsafeRowJoiner joiner) {
        this.original = original;
        this.tail = tail;
        this.projection = projection;
        this.binaryTail = binaryTail;
        this.joiner = joiner;
        this.next = first;
    }

    /** Leaves out records that are not chosen, and ends before the reference `until`. */
    RankedRows only(LongPredicate records, long until) {
        chosen = records;
        end = until;
        return this;
    }

    public boolean hasNext() {
        if (chosen == null) {
            return original.hasNext();
        }
        while (found == null && next < end && original.hasNext()) {
            InternalRow record = original.next();
            if (chosen.test(next)) {
                found = record;
            } else {
                next++;
            }
        }
        return found != null;
    }

    public InternalRow next() {
        if (chosen == null) {
            return numbered(original.next());
        }
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        InternalRow record = found;
        found = null;
        return numbered(record);
    }

    private InternalRow numbered(InternalRow record) {
        if (joiner != null && record instanceof UnsafeRow unsafeRow) { // as readers of text give them
            binaryTail.setLong(0, next++);
            return joiner.join(unsafeRow, binaryTail);
        }
        tail.setLong(0, next++);
        return projection.apply(row.apply(record, tail));
    }

    public void close() throws IOException {
        if (original instanceof Closeable closeable) {
            closeable.close();
        }
    }
}
