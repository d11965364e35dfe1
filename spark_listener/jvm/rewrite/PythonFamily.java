package headwater.rewrite;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.plans.logical.ArrowEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.BatchEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Scalar Python functions, plain, Arrow and pandas: row-wise by Spark's contract, and Spark keeps the other columns beside them. */
final class PythonFamily extends Family {
    boolean takes(LogicalPlan node) {
        return node instanceof BatchEvalPython || node instanceof ArrowEvalPython;
    }

    Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.checkArguments(node);
        Rewritten child = rewriter.rewrite((LogicalPlan) node.children().apply(0));
        return new Rewritten((LogicalPlan) node.withNewChildren(Scala.seq((Object) child.plan)), child.hidden);
    }
}
