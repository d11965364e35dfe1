package headwater.source.iceberg;

import headwater.shim.ForwardedReader;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;

/** Rows one by one, each with its reference behind the columns that the query reads. The reader uses one row again and again, and so do we. */
final class NumberedTableRows extends ForwardedReader {
    private final RowPlaces places;
    private final ProjectingInternalRow visible;
    private final Object[] reference = new Object[1];
    private final JoinedRow numbered = new JoinedRow();
    private final InternalRow tail = new GenericInternalRow(reference);

    NumberedTableRows(PartitionReader original, StructType columns, RowPlaces places) {
        super(original);
        this.places = places;
        List ordinals = new ArrayList();
        for (int i = 0; i < columns.length(); i++) {
            ordinals.add(Integer.valueOf(i));
        }
        this.visible = new ProjectingInternalRow(columns, Scala.seq(ordinals).toIndexedSeq());
    }

    public Object get() {
        InternalRow row = (InternalRow) original.get();
        reference[0] = Long.valueOf(reference(row));
        visible.project(row);
        return numbered.apply(visible, tail);
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
