package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.functions.GuardedFunctions;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.plans.logical.ArrowEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.BatchEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/** Scalar Python functions, plain, Arrow and pandas. By Spark's contract they work row by row, and Spark keeps the other columns. */
public final class PythonFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof BatchEvalPython || node instanceof ArrowEvalPython;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.checkArguments(node);
        Rewritten child = rewriter.rewrite(node.children().apply(0));
        return new Rewritten(referring(node.withNewChildren(Scala.seq(child.plan)), child, rewriter), child.hidden);
    }

    /** The operator whose keeper, if it has one, gets the references of its rows. */
    private static LogicalPlan referring(LogicalPlan node, Rewritten child, Rewriter rewriter) {
        boolean batches = node instanceof BatchEvalPython;
        List<PythonUDF> functions = Scala.list(batches ? ((BatchEvalPython) node).udfs() : ((ArrowEvalPython) node).udfs());
        PythonUDF last = functions.get(functions.size() - 1);
        if (!GuardedFunctions.isKeeper(last)) {
            return node;
        }
        functions.set(functions.size() - 1, GuardedFunctions.referring(last, rewriter.capture.id, child.hidden));
        return node instanceof ArrowEvalPython arrow
            ? new ArrowEvalPython(Scala.seq(functions), arrow.resultAttrs(), child.plan, arrow.evalType())
            : new BatchEvalPython(Scala.seq(functions), ((BatchEvalPython) node).resultAttrs(), child.plan);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.DEFINES;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        if (node instanceof BatchEvalPython batchEvalPython) {
            functions(batchEvalPython.udfs(), batchEvalPython.resultAttrs(), operator, expressions);
        } else {
            functions(((ArrowEvalPython) node).udfs(), ((ArrowEvalPython) node).resultAttrs(), operator, expressions);
        }
    }

    private static void functions(Seq<PythonUDF> udfs, Seq<Attribute> results, Map<String, Object> operator, ExpressionText expressions) {
        operator.put("op", "PythonUDF");
        List<PythonUDF> functions = Scala.list(udfs);
        List<Attribute> attributes = Scala.list(results);
        List<Map<String, Object>> defines = new ArrayList<>();
        for (int i = 0; i < functions.size(); i++) {
            Map<String, Object> definition = OperatorText.named(attributes.get(i));
            definition.put("expr", expressions.outermost((Expression) functions.get(i)));
            defines.add(definition);
        }
        operator.put("defines", defines);
    }
}
