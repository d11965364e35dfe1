package headwater.rewrite.families;

import headwater.shim.Scala;
import headwater.text.ExpressionText;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.plans.logical.Window;

/** A window operator: partition, order, frames, and which column is over which frame. */
final class WindowText {
    private WindowText() {}

    static void describe(Window window, Map<String, Object> operator, ExpressionText expressions) {
        operator.put("op", "Window");
        operator.put("partition", OperatorText.all(Scala.list(window.partitionSpec()), expressions));
        List<Map<String, Object>> order = new ArrayList<>();
        for (SortOrder sort : Scala.list(window.orderSpec())) {
            Map<String, Object> key = new LinkedHashMap<>();
            key.put("expr", expressions.outermost(sort.child()));
            key.put("descending", sort.direction() == org.apache.spark.sql.catalyst.expressions.Descending$.MODULE$);
            key.put("nulls_last", sort.nullOrdering() == org.apache.spark.sql.catalyst.expressions.NullsLast$.MODULE$);
            order.add(key);
        }
        operator.put("order", order);
        List<SpecifiedWindowFrame> known = WindowFrames.of(window);
        List<Map<String, Object>> defines = new ArrayList<>();
        for (NamedExpression column : Scala.list(window.windowExpressions())) {
            Map<String, Object> definition = OperatorText.named(column.toAttribute());
            definition.put("expr", expressions.outermost((Expression) column));
            int frame = known.indexOf(WindowFrames.frameOf((Expression) column));
            if (frame >= 0) {
                definition.put("frame", frame);
            }
            defines.add(definition);
        }
        operator.put("defines", defines);
        List<Map<String, Object>> frames = new ArrayList<>();
        for (SpecifiedWindowFrame frame : known) {
            frames.add(frame(frame));
        }
        operator.put("frames", frames);
    }

    private static Map<String, Object> frame(SpecifiedWindowFrame frame) {
        Map<String, Object> result = new LinkedHashMap<>();
        boolean rows = frame.frameType() == org.apache.spark.sql.catalyst.expressions.RowFrame$.MODULE$;
        result.put("unit", rows ? "rows" : "range");
        result.put("start", bound(frame.lower(), rows));
        result.put("end", bound(frame.upper(), rows));
        return result;
    }

    /** null: unbounded; 0: the current row; else a number of rows, or the text of a bound of values. */
    private static Object bound(Expression bound, boolean rows) {
        if (bound == org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$.MODULE$
            || bound == org.apache.spark.sql.catalyst.expressions.UnboundedFollowing$.MODULE$) {
            return null;
        }
        if (bound == org.apache.spark.sql.catalyst.expressions.CurrentRow$.MODULE$) {
            return 0;
        }
        if (rows && bound.foldable()) {
            return bound.eval(null);
        }
        return bound.sql();
    }
}
