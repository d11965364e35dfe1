package headwater.source.iceberg;

import headwater.shim.ForwardedReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;

/**
 * Rows one by one, each with its reference behind the columns that the query reads. The reader uses one row again and
 * again, and so do we.
 */
final class NumberedTableRows extends ForwardedReader<InternalRow> {
    private final RowPlaces places;
    private final NumberedRow numbered;

    NumberedTableRows(PartitionReader<InternalRow> original, int columns, RowPlaces places) {
        super(original);
        this.places = places;
        this.numbered = new NumberedRow(columns);
    }

    public InternalRow get() {
        InternalRow row = original.get();
        return numbered.of(row, reference(row));
    }

    private long reference(InternalRow row) {
        if (places.file < 0) {
            return RowPlaces.NONE;
        }
        try {
            return places.reference(places.base(row.getUTF8String(places.file)), row.getLong(places.position));
        } catch (RuntimeException fault) {
            places.lost(String.valueOf(fault));
            return RowPlaces.NONE;
        }
    }
}
