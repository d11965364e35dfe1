package headwater.rewrite.families;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.plans.logical.Window;

/** The frames of a window operator, each once, in the order of its expressions: the index is a frame's number in the manifest. */
public final class WindowFrames {
    private WindowFrames() {}

    public static List of(Window window) {
        List result = new ArrayList();
        List expressions = Scala.list(window.windowExpressions());
        for (int i = 0; i < expressions.size(); i++) {
            SpecifiedWindowFrame frame = frameOf((Expression) expressions.get(i));
            if (frame != null && !result.contains(frame)) {
                result.add(frame);
            }
        }
        return result;
    }

    /** The frame of the (first) window expression in an expression; null where there is none. */
    public static SpecifiedWindowFrame frameOf(Expression expression) {
        if (expression instanceof WindowExpression) {
            Object frame = ((WindowExpression) expression).windowSpec().frameSpecification();
            return frame instanceof SpecifiedWindowFrame ? (SpecifiedWindowFrame) frame : null;
        }
        List children = Scala.list(expression.children());
        for (int i = 0; i < children.size(); i++) {
            SpecifiedWindowFrame frame = frameOf((Expression) children.get(i));
            if (frame != null) {
                return frame;
            }
        }
        return null;
    }
}
