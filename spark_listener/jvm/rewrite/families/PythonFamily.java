package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.plans.logical.ArrowEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.BatchEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Scalar Python functions, plain, Arrow and pandas: row-wise by Spark's contract, and Spark keeps the other columns beside them. */
public final class PythonFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof BatchEvalPython || node instanceof ArrowEvalPython;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.checkArguments(node);
        Rewritten child = rewriter.rewrite((LogicalPlan) node.children().apply(0));
        return new Rewritten((LogicalPlan) node.withNewChildren(Scala.seq((Object) child.plan)), child.hidden);
    }
}
