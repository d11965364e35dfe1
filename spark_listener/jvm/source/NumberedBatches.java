package headwater.source;

import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** The batches of a split with their row indexes. The reader uses one batch again and again, and so do we. */
final class NumberedBatches extends AbstractIterator<ColumnarBatch> implements java.io.Closeable {
    private final Iterator<?> original;
    private final int column;
    private final NumberedBatchReader reader; // hears of what cannot be numbered
    private final RowIndexVector positions = new RowIndexVector();
    private BatchPlaces groups; // null: what is read cannot be numbered any more
    private ColumnarBatch given; // the reader's
    private ColumnarBatch numbered; // ours around it

    NumberedBatches(Iterator<?> original, int column, BatchPlaces groups, NumberedBatchReader reader) {
        this.original = original;
        this.column = column;
        this.groups = groups;
        this.reader = reader;
    }

    public boolean hasNext() {
        return original.hasNext();
    }

    public ColumnarBatch next() {
        ColumnarBatch batch = (ColumnarBatch) original.next();
        if (batch != given) {
            numbered = around(batch);
            given = batch;
        }
        int rows = batch.numRows();
        numbered.setNumRows(rows);
        positions.unknown();
        if (groups != null) {
            try {
                groups.place(positions, rows);
            } catch (Throwable fault) {
                groups = null;
                positions.unknown();
                reader.lost(fault);
            }
        }
        return numbered;
    }

    private ColumnarBatch around(ColumnarBatch batch) {
        ColumnVector[] columns = new ColumnVector[batch.numCols() + 1];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = i == column ? positions : batch.column(i < column ? i : i - 1);
        }
        return new ColumnarBatch(columns);
    }

    public void close() throws java.io.IOException {
        if (original instanceof java.io.Closeable closeable) {
            closeable.close();
        }
    }
}
