package headwater.rewrite.families;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SparkPartitionID;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPythonUDTF;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MapInArrow;
import org.apache.spark.sql.catalyst.plans.logical.MapInPandas;
import org.apache.spark.sql.types.DataTypes;

/**
 * Functions over all rows of a task (mapInPandas, mapInArrow, table functions in Python). These functions may keep
 * state from row to row, so each output row depends on all rows of the task. The rows form a group whose key is the
 * number of the partition. The function does not see our columns.
 */
public final class TaskFunctionFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return isOne(node);
    }

    static boolean isOne(LogicalPlan node) {
        return node instanceof MapInPandas || node instanceof MapInArrow || node instanceof BaseEvalPythonUDTF;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.checkArguments(node);
        LogicalPlan input = node.children().apply(0);
        Boundary boundary = rewriter.boundary(SegmentSpec.GROUP, operator, node);
        Rewritten child = rewriter.rewrite(input);
        List<Expression> values = new ArrayList<>();
        values.add(partition());
        boundary.column("key", null, 0);
        boundary.hidden(child, values);
        LogicalPlan tapped = Rewriter.tapped(child.plan, values, rewriter.capture.sink(boundary));
        LogicalPlan bare = new HiddenProject(input.output(), tapped, input);
        LogicalPlan renewed = node.withNewChildren(Scala.seq(bare));
        Alias reference = Rewriter.alias(partition(), "task");
        List<NamedExpression> columns = Scala.list(node.output());
        columns.add(reference);
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(new HiddenColumn(reference.toAttribute(), operator));
        rewriter.capture.problem(
            node.nodeName(), "which rows of its task an output row was made of only the function knows; all of them are given", "superset");
        return new Rewritten(new HiddenProject(Scala.seq(columns), renewed, node), hidden);
    }

    private static Expression partition() {
        return Cast$.MODULE$.apply(new SparkPartitionID(), DataTypes.LongType, false);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.OPAQUE;
    }

    /** A table function is given its arguments; what it makes of them only its code knows. */
    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        if (!(node instanceof BaseEvalPythonUDTF baseEvalPythonUDTF)) {
            OperatorText.plain(node, operator, sources);
            return;
        }
        operator.put("reads", OperatorText.reads(node));
        List<Attribute> made = Scala.list(baseEvalPythonUDTF.resultAttrs());
        List<Map<String, Object>> defines = new ArrayList<>();
        for (Attribute column : made) {
            Map<String, Object> definition = OperatorText.named(column);
            Map<String, Object> expression = expressions.outermost((Expression) baseEvalPythonUDTF.udtf());
            expression.put("opaque", true);
            definition.put("expr", expression);
            defines.add(definition);
        }
        operator.put("defines", defines);
    }
}
