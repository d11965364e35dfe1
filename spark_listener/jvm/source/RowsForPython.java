package headwater.source;

import headwater.shim.Differences;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.reflect.ClassTag$;

/** The rows of a plan with references behind its columns, as pairs for Python: a row, as Spark gives it to Python, and its references. */
public final class RowsForPython extends scala.runtime.AbstractFunction1<InternalRow, Object> implements java.io.Serializable {
    private static final Long NONE = Long.MIN_VALUE;

    private final StructType schema; // of the columns
    private final int references;
    private final boolean bytes;
    private transient DataType[] types;

    private RowsForPython(StructType schema, int references, boolean bytes) {
        this.schema = schema;
        this.references = references;
        this.bytes = bytes;
    }

    public static JavaRDD<byte[]> of(RDD<InternalRow> rows, StructType schema, int references, SparkSession session) {
        RowsForPython pairs = new RowsForPython(schema, references, Differences.givesBytes(session));
        return EvaluatePython.javaToPython(rows.map(pairs, ClassTag$.MODULE$.Any())).toJavaRDD();
    }

    public Object apply(InternalRow row) {
        if (types == null) {
            StructField[] fields = schema.fields();
            DataType[] found = new DataType[fields.length];
            for (int i = 0; i < fields.length; i++) {
                found[i] = fields[i].dataType();
            }
            types = found;
        }
        Object[] values = new Object[types.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = row.isNullAt(i) ? null : Differences.toPython(row.get(i, types[i]), types[i], bytes);
        }
        Object[] named = new Object[references];
        for (int i = 0; i < references; i++) {
            named[i] = row.isNullAt(values.length + i) ? NONE : Long.valueOf(row.getLong(values.length + i));
        }
        return new Object[] {new GenericRowWithSchema(values, schema), named};
    }
}
