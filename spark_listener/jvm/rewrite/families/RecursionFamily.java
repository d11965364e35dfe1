package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Accessors;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Recursive common table expressions: a union of the first rows and of the plan that refers to the union. The number of
 * the `loop` identifies both. Spark has these nodes from 4.1 on, so they are accessed by name.
 */
public final class RecursionFamily extends Family {
    private static final String LOOP = "UnionLoop";
    private static final String REFERENCE = "UnionLoopRef";

    public boolean takes(LogicalPlan node) {
        return is(node, LOOP) || is(node, REFERENCE);
    }

    private static boolean is(LogicalPlan node, String name) {
        return node.getClass().getName().equals("org.apache.spark.sql.catalyst.plans.logical." + name);
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        throw new Refused(node.nodeName(), "records are not followed through this operator yet");
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        boolean isLoop = is(node, LOOP);
        operator.put("loop", Accessors.get(node, isLoop ? "id" : "loopId"));
        if (!isLoop) {
            operator.put("columns", OperatorText.columns(node));
            return;
        }
        operator.put("defines", UnionFamily.defines(node, expressions));
    }
}
