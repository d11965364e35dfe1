package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.kept.RecordedRows;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LogicalRDD;

/**
 * Rows that were made of the records of an RDD in Python, each with its references behind its columns. What stands below is known in Python,
 * which adds it to the manifest (`recorded`).
 */
public final class RecordedFamily extends Family {
    private static final Long RECORD = Long.valueOf(1L << 50); // the one column of a record, as in rdd_records/program.py

    public boolean takes(LogicalPlan node) {
        return RecordedRows.of(node) != null;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        LogicalRDD relation = (LogicalRDD) node;
        List operators = RecordedRows.of(node).operators;
        List output = Scala.list(relation.output());
        List hidden = new ArrayList();
        for (int i = 0; i < operators.size(); i++) {
            HiddenColumn row = HiddenColumn.row(((Integer) operators.get(i)).intValue());
            output.add(row.attribute);
            hidden.add(row);
        }
        return new Rewritten(Nodes.rows(relation, output, relation.rdd()), hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.DEFINES;
    }

    public void describe(LogicalPlan node, Map operator, ExpressionText expressions, LeafSources sources) {
        operator.put("op", "RDD");
        operator.put("text", "RDD " + node.output().mkString("[", ", ", "]"));
        operator.put("recorded", Integer.valueOf(RecordedRows.of(node).top));
        operator.put("columns", OperatorText.columns(node));
        List defines = new ArrayList();
        List output = Scala.list(node.output());
        for (int i = 0; i < output.size(); i++) {
            Map record = new LinkedHashMap();
            record.put("fn", "attr");
            record.put("attr", RECORD);
            record.put("name", "value");
            List arguments = new ArrayList();
            arguments.add(record);
            Map expression = new LinkedHashMap();
            expression.put("fn", "user_function");
            expression.put("name", "createDataFrame");
            expression.put("args", arguments);
            Map definition = OperatorText.named((Attribute) output.get(i));
            definition.put("expr", expression);
            defines.add(definition);
        }
        operator.put("defines", defines);
    }
}
