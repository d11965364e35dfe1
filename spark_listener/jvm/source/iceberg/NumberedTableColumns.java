package headwater.source.iceberg;

import headwater.shim.ForwardedReader;
import headwater.source.LongColumn;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Batches of columns, each with the references of its rows after the columns that the query reads. The rows of a batch
 * come from one data file.
 */
final class NumberedTableColumns extends ForwardedReader<ColumnarBatch> {
    private final int columns; // that the query reads
    private final RowPlaces places;

    NumberedTableColumns(PartitionReader<ColumnarBatch> original, int columns, RowPlaces places) {
        super(original);
        this.columns = columns;
        this.places = places;
    }

    public ColumnarBatch get() {
        ColumnarBatch batch = original.get();
        ColumnVector[] vectors = new ColumnVector[columns + 1];
        for (int i = 0; i < columns; i++) {
            vectors[i] = batch.column(i);
        }
        vectors[columns] = references(batch);
        ColumnarBatch numbered = new ColumnarBatch(vectors);
        numbered.setNumRows(batch.numRows());
        return numbered;
    }

    private ColumnVector references(ColumnarBatch batch) {
        int rows = batch.numRows();
        try {
            if (places.file >= 0 && rows > 0) {
                ColumnVector file = batch.column(places.file);
                long base = places.base(file.getUTF8String(0));
                if (!file.getUTF8String(rows - 1).equals(file.getUTF8String(0))) {
                    throw new IllegalStateException("a batch is of several files");
                }
                return new References(batch, base, places, columns);
            }
        } catch (RuntimeException fault) {
            places.lost(String.valueOf(fault));
        }
        return new References(batch, RowPlaces.NONE, places, columns);
    }

    /** References of a batch's rows. The vector is closed together with the columns that it hides. */
    private static final class References extends LongColumn {
        private final ColumnarBatch batch;
        private final long base;
        private final RowPlaces places;
        private final int hidden; // the first column of the batch that the query does not read
        private final ColumnVector positions;

        References(ColumnarBatch batch, long base, RowPlaces places, int hidden) {
            this.batch = batch;
            this.base = base;
            this.places = places;
            this.hidden = hidden;
            this.positions = base == RowPlaces.NONE ? null : batch.column(places.position);
        }

        public long getLong(int row) {
            return positions == null ? RowPlaces.NONE : places.reference(base, positions.getLong(row));
        }

        public void close() {
            for (int i = hidden; i < batch.numCols(); i++) {
                batch.column(i).close();
            }
        }

        public void closeIfFreeable() {
            for (int i = hidden; i < batch.numCols(); i++) {
                batch.column(i).closeIfFreeable();
            }
        }
    }
}
