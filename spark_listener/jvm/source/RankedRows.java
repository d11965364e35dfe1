package headwater.source;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The records of a split, counted. Every record that the reader gives counts, whether or not a filter above lets it pass. */
final class RankedRows extends AbstractIterator implements java.io.Closeable {
    private final Iterator original;
    private final UnsafeProjection projection;
    private final GenericInternalRow reference = new GenericInternalRow(1);
    private final JoinedRow tail = new JoinedRow();
    private final JoinedRow row = new JoinedRow();
    private long next;

    RankedRows(Iterator original, InternalRow partition, long first, UnsafeProjection projection) {
        this.original = original;
        this.projection = projection;
        this.next = first;
        tail.apply(reference, partition);
    }

    public boolean hasNext() {
        return original.hasNext();
    }

    public Object next() {
        InternalRow record = (InternalRow) original.next();
        reference.update(0, Long.valueOf(next++));
        return projection.apply(row.apply(record, tail));
    }

    public void close() throws java.io.IOException {
        if (original instanceof java.io.Closeable) {
            ((java.io.Closeable) original).close();
        }
    }
}
