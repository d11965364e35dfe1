package headwater.source;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;

/** An RDD's rows with one more column, the reference of each: its partition's number and its rank there. */
public final class NumberedRows extends scala.runtime.AbstractFunction2<Object, Iterator<InternalRow>, Iterator<InternalRow>> implements java.io.Serializable {
    private static final StructType REFERENCE = new StructType().add("reference", DataTypes.LongType, false);

    private NumberedRows() {}

    public static RDD<InternalRow> of(RDD<InternalRow> rows) {
        return rows.mapPartitionsWithIndex(new NumberedRows(), false, ClassTag$.MODULE$.apply(InternalRow.class));
    }

    public Iterator<InternalRow> apply(Object partition, Iterator<InternalRow> rows) {
        return new Rows(rows, ((Integer) partition).longValue() << 40);
    }

    private static final class Rows extends AbstractIterator<InternalRow> {
        private final Iterator<InternalRow> original;
        private final SpecificInternalRow reference = new SpecificInternalRow(REFERENCE);
        private final JoinedRow row = new JoinedRow();
        private long next;

        Rows(Iterator<InternalRow> original, long first) {
            this.original = original;
            this.next = first;
        }

        public boolean hasNext() {
            return original.hasNext();
        }

        public InternalRow next() {
            InternalRow record = original.next();
            reference.setLong(0, next++);
            return row.apply(record, reference);
        }
    }
}
