package headwater.source;

import headwater.shim.Scala;
import java.io.IOException;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.SerializableConfiguration;
import scala.Function1;
import scala.collection.AbstractIterator;

/**
 * Reads the splits in the executor, but only row groups with wanted rows. In batches, which contain all rows of a
 * group, the other rows have a negative row index. Single rows that are not wanted are left out.
 */
final class WantedReader extends scala.runtime.AbstractFunction1<PartitionedFile, scala.collection.Iterator<InternalRow>> implements java.io.Serializable {
    private final Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> original;
    private final int column;
    private final WantedRows wanted;
    private final SerializableConfiguration conf;

    /** `column` is that of the row index. */
    WantedReader(Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> original, int column, WantedRows wanted, SerializableConfiguration conf) {
        this.original = original;
        this.column = column;
        this.wanted = wanted;
        this.conf = conf;
    }

    public scala.collection.Iterator<InternalRow> apply(PartitionedFile split) {
        long[] rows = wanted.of(split);
        try {
            return Scala.batches(new Chosen(WantedRows.narrowed(split, rows, conf.value()).iterator(), rows));
        } catch (IOException fault) {
            throw new java.io.UncheckedIOException(fault);
        }
    }

    /** One part after the other; a part is opened when the one before has been read. */
    private final class Chosen extends AbstractIterator<Object> {
        private final Iterator<PartitionedFile> parts;
        private final long[] rows;
        private scala.collection.Iterator<?> current; // null: none was opened yet
        private Object found; // null: not looked for yet

        Chosen(Iterator<PartitionedFile> parts, long[] rows) {
            this.parts = parts;
            this.rows = rows;
        }

        public boolean hasNext() {
            while (found == null) {
                if (current == null || !current.hasNext()) {
                    if (!parts.hasNext()) {
                        return false;
                    }
                    current = original.apply(parts.next());
                } else {
                    found = chosen(current.next());
                }
            }
            return true;
        }

        public Object next() {
            if (!hasNext()) {
                throw new java.util.NoSuchElementException();
            }
            Object result = found;
            found = null;
            return result;
        }

        /** The wanted part of a batch or a row. Null if there is none. */
        private Object chosen(Object read) {
            if (!(read instanceof ColumnarBatch batch)) {
                long row = ((InternalRow) read).getLong(column);
                int place = WantedRows.place(rows, row);
                return place < rows.length && rows[place] == row ? read : null;
            }
            return ((RowIndexVector) batch.column(column)).choose(rows, batch.numRows()) ? batch : null;
        }
    }
}
