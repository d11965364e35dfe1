package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Scala;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Observed metrics of passing rows (`DataFrame.observe`). */
public final class ObservedFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof CollectMetrics;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        throw new Refused(node.nodeName(), "records are not followed through this operator yet");
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        CollectMetrics observed = (CollectMetrics) node;
        operator.put("reads", OperatorText.reads(node));
        operator.put("observes", observed.name());
        operator.put("metrics", OperatorText.defined(Scala.list(observed.metrics()), expressions));
    }
}
