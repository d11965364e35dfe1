package headwater.rewrite.kept;

import headwater.shim.Frames;
import headwater.shim.Nodes;
import headwater.source.RowsFromPython;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;

/**
 * The rows of a frame that was made of an RDD in Python whose records were followed: each has its references behind its
 * columns. These are to operators of the recording in Python, which are numbered from FIRST on, so that no plan has
 * operators of the same numbers. `top` is the operator that made the rows, and `operators` are those that a row's
 * references belong to.
 */
public record RecordedRows(int top, List<Integer> operators) {
    private static final int FIRST = 1000000; // as in spark_listener/recording.py
    private static final Map<RDD<InternalRow>, RecordedRows> KNOWN = new WeakHashMap<>();

    /** Whether a number is that of an operator of the recording in Python. */
    public static boolean isRecorded(int operator) {
        return operator >= FIRST;
    }

    /** A frame with the same columns over `pairs` of a row and its references. Null if the original is no frame of an RDD. */
    public static Dataset<Row> frame(Dataset<?> plain, RDD<Object> pairs, int top, List<Integer> operators) {
        LogicalPlan plan = Frames.plan(plain);
        if (!(plan instanceof LogicalRDD relation)) {
            return null;
        }
        RDD<InternalRow> rows = RowsFromPython.of(pairs, relation.schema(), operators.size());
        synchronized (KNOWN) {
            KNOWN.put(rows, new RecordedRows(top, new ArrayList<>(operators)));
        }
        return Frames.of(plain.sparkSession(), Nodes.rows(relation, headwater.shim.Scala.list(relation.output()), rows));
    }

    /** The recording of the rows that a leaf reads. Null if they come from no recording. */
    public static RecordedRows of(LogicalPlan leaf) {
        if (!(leaf instanceof LogicalRDD logicalRDD)) {
            return null;
        }
        synchronized (KNOWN) {
            return KNOWN.get(logicalRDD.rdd());
        }
    }
}
