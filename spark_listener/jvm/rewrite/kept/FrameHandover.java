package headwater.rewrite.kept;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Frames;
import headwater.shim.Scala;
import headwater.source.RowsForPython;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A frame whose RDD the program asks for, and the rows to return. The rows come from the same plan with taps, each in a
 * pair with its references. Operators are numbered as in the description of the plan, where the root is 0. Operators of
 * a recording in Python keep their numbers.
 */
public final class FrameHandover extends TappedFrame {
    private final List<Integer> operators = new ArrayList<>(); // what the references of a row are to
    private JavaRDD<byte[]> rows; // null: the program's own

    private FrameHandover(LogicalPlan written) {
        super(written);
    }

    /**
     * The replacement of a frame. Its shuffles may have run when this returns, because Spark runs them when the RDD of
     * a frame is requested. Never throws.
     */
    public static FrameHandover of(Dataset<?> frame) {
        FrameHandover handed = new FrameHandover(Frames.plan(frame));
        QueryExecution tapped = handed.planned(frame);
        if (tapped != null) {
            try {
                StructType schema = frame.schema();
                handed.rows = RowsForPython.of(tapped.toRdd(), schema, handed.operators.size(), frame.sparkSession());
            } catch (Throwable fault) { // perhaps of the program's own functions, which it will meet by itself
                handed.capture = null;
                handed.reason = "the rows of the frame could not be made with taps: " + fault;
            }
        }
        return handed;
    }

    public LogicalPlan rewrite(LogicalPlan plan, Capture capture) {
        // The program may stop reading a partition before its end.
        Rewritten child = new Rewriter(capture, 1).rewriteStoppable(plan);
        List<NamedExpression> columns = Scala.list(plan.output());
        operators.clear();
        for (int i = 0; i < child.hidden.size(); i++) {
            HiddenColumn column = child.hidden.get(i);
            if (!column.role.equals(HiddenColumn.REF)) {
                throw new Refused(plan.nodeName(), "an RDD cannot be told by which branch of the query a row was made");
            }
            columns.add(column.attribute);
            operators.add(number(column.operator));
        }
        if (operators.isEmpty()) { // its rows come from no record
            columns.add(Rewriter.alias(new Literal(null, DataTypes.LongType), "none"));
            operators.add(0);
        }
        return new HiddenProject(Scala.seq(columns), child.plan, plan);
    }

    /** The number in the plan's description of what the rewriter numbers from 1 on. */
    public static int number(int operator) {
        return RecordedRows.isRecorded(operator) ? operator : operator - 1;
    }

    protected String done() {
        return "made an RDD";
    }

    /** Pairs of a row and its references, as bytes of Python's; null: the program's own rows are to be given, for a `reason`. */
    public JavaRDD<byte[]> rows() {
        return rows;
    }

    public List<Integer> operators() {
        return operators;
    }

    /** The columns of a row, as a description names them. */
    public List<Map<String, Object>> columns() {
        return OperatorText.columns(capture.original);
    }

    /** The plan without taps. */
    public LogicalPlan optimized() {
        return optimized;
    }
}
