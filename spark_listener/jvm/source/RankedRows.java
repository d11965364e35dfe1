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
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The records of a split, counted. Every record that the reader gives counts, whether or not a filter above lets it pass. */
final class RankedRows extends AbstractIterator<InternalRow> implements Closeable {
    private final Iterator<InternalRow> original;
    private final SpecificInternalRow tail; // the reference, then the partition values
    private final UnsafeProjection projection;
    private final boolean ordered; // the scan has the original's columns, the reference and the partition values in this order
    private final JoinedRow row = new JoinedRow();
    private long next;
    private LongPredicate chosen; // null: all records are read
    private long end = Long.MAX_VALUE; // the reference after that of the last record to read
    private InternalRow found; // a chosen record that was not returned yet

    RankedRows(Iterator<InternalRow> original, SpecificInternalRow tail, long first, UnsafeProjection projection, boolean ordered) {
        this.original = original;
        this.tail = tail;
        this.projection = projection;
        this.ordered = ordered;
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

    /**
     * The record with its reference. A binary record of the right order, as readers of text give them, is not copied:
     * NumberedScan gives the reference another name, so a projection stays above the scan and its filters, and makes
     * binary rows.
     */
    private InternalRow numbered(InternalRow record) {
        tail.setLong(0, next++);
        row.apply(record, tail);
        return ordered && record instanceof UnsafeRow ? row : projection.apply(row);
    }

    public void close() throws IOException {
        if (original instanceof Closeable closeable) {
            closeable.close();
        }
    }
}
