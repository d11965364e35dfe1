package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.kept.RecordedRows;
import headwater.shim.Nodes;
import headwater.shim.Parts;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;

/**
 * Rows that Python made of the records of an RDD, with references in the last columns. Python knows the plan below, and
 * adds it to the manifest (`recorded`).
 */
public final class RecordedFamily extends Family {
    private static final Long RECORD = 1L << 50; // the one column of a record, as in rdd_records/program.py

    public boolean takes(LogicalPlan node) {
        return RecordedRows.of(node) != null;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        LogicalRDD relation = (LogicalRDD) node;
        List<Integer> operators = RecordedRows.of(node).operators();
        List<Attribute> output = Scala.list(relation.output());
        List<HiddenColumn> hidden = new ArrayList<>();
        for (int number : operators) {
            HiddenColumn row = HiddenColumn.row(number);
            output.add(row.attribute);
            hidden.add(row);
        }
        return new Rewritten(Nodes.rows(relation, output, relation.rdd()), hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.DEFINES;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        operator.put("op", "RDD");
        operator.put("text", "RDD " + node.output().mkString("[", ", ", "]"));
        operator.put("recorded", RecordedRows.of(node).top());
        operator.put("columns", OperatorText.columns(node));
        List<Map<String, Object>> defines = new ArrayList<>();
        for (Attribute column : Scala.list(node.output())) {
            Map<String, Object> record = Parts.of("fn", "attr", "attr", RECORD, "name", "value");
            List<Map<String, Object>> arguments = new ArrayList<>();
            arguments.add(record);
            Map<String, Object> expression = Parts.of(
                "fn", "user_function", "name", "createDataFrame", "args", arguments);
            Map<String, Object> definition = OperatorText.named(column);
            definition.put("expr", expression);
            defines.add(definition);
        }
        operator.put("defines", defines);
    }
}
