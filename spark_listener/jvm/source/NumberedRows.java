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
public final class NumberedRows extends scala.runtime.AbstractFunction2 implements java.io.Serializable {
    private static final StructType REFERENCE = new StructType().add("reference", DataTypes.LongType, false);

    private NumberedRows() {}

    public static RDD of(RDD rows) {
        return rows.mapPartitionsWithIndex(new NumberedRows(), false, ClassTag$.MODULE$.apply(InternalRow.class));
    }

    public Object apply(Object partition, Object rows) {
        return new Rows((Iterator) rows, ((Integer) partition).longValue() << 40);
    }

    private static final class Rows extends AbstractIterator {
        private final Iterator original;
        private final SpecificInternalRow reference = new SpecificInternalRow(REFERENCE);
        private final JoinedRow row = new JoinedRow();
        private long next;

        Rows(Iterator original, long first) {
            this.original = original;
            this.next = first;
        }

        public boolean hasNext() {
            return original.hasNext();
        }

        public Object next() {
            InternalRow record = (InternalRow) original.next();
            reference.setLong(0, next++);
            return row.apply(record, reference);
        }
    }
}
