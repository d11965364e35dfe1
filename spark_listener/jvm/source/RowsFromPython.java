package headwater.source;

import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.MatchError;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;

/** Rows that Python made, in pairs with their references: as Spark reads such rows, and with the references behind their columns. */
public final class RowsFromPython extends scala.runtime.AbstractFunction2<Object, Iterator<Object>, Iterator<InternalRow>> implements java.io.Serializable {
    private final StructType schema;
    private final int references;

    private RowsFromPython(StructType schema, int references) {
        this.schema = schema;
        this.references = references;
    }

    public static RDD<InternalRow> of(RDD<Object> pairs, StructType schema, int references) {
        return pairs.mapPartitionsWithIndex(new RowsFromPython(schema, references), false, ClassTag$.MODULE$.apply(InternalRow.class));
    }

    public Iterator<InternalRow> apply(Object partition, Iterator<Object> pairs) {
        return new Rows(pairs, EvaluatePython.makeFromJava(schema), references);
    }

    /** The elements of a list or a tuple from Python. For any other value it throws the same error as Spark. */
    private static Object[] array(Object sent) {
        if (sent instanceof List<?> values) {
            return values.toArray();
        }
        if (sent instanceof Object[] array) {
            return array;
        }
        throw new MatchError(sent);
    }

    private static final class Rows extends AbstractIterator<InternalRow> {
        private final Iterator<Object> pairs;
        private final Function1<Object, Object> read;
        private final GenericInternalRow named;
        private final JoinedRow row = new JoinedRow();

        Rows(Iterator<Object> pairs, Function1<Object, Object> read, int references) {
            this.pairs = pairs;
            this.read = read;
            this.named = new GenericInternalRow(references);
        }

        public boolean hasNext() {
            return pairs.hasNext();
        }

        public InternalRow next() {
            Object[] pair = array(pairs.next());
            Object[] sent = array(pair[1]);
            for (int i = 0; i < sent.length; i++) {
                named.update(i, ((Number) sent[i]).longValue());
            }
            return row.apply((InternalRow) read.apply(array(pair[0])), named);
        }
    }
}
