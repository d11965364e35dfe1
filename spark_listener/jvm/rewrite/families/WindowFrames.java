package headwater.rewrite.families;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.plans.logical.Window;

/** The frames of a window operator, each once, in the order of its expressions: the index is a frame's number in the manifest. */
public final class WindowFrames {
    private WindowFrames() {}

    public static List<SpecifiedWindowFrame> of(Window window) {
        List<SpecifiedWindowFrame> result = new ArrayList<>();
        for (NamedExpression expression : Scala.list(window.windowExpressions())) {
            SpecifiedWindowFrame frame = frameOf((Expression) expression);
            if (frame != null && !result.contains(frame)) {
                result.add(frame);
            }
        }
        return result;
    }

    /** The frame of the first window expression in an expression, or null. */
    public static SpecifiedWindowFrame frameOf(Expression expression) {
        if (expression instanceof WindowExpression windowExpression) {
            Object frame = windowExpression.windowSpec().frameSpecification();
            return frame instanceof SpecifiedWindowFrame specifiedWindowFrame ? specifiedWindowFrame : null;
        }
        for (Expression child : Scala.list(expression.children())) {
            SpecifiedWindowFrame frame = frameOf(child);
            if (frame != null) {
                return frame;
            }
        }
        return null;
    }
}
