package headwater.describe;

import headwater.rewrite.Capture;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.WriteFiles;

/**
 * A plan as the manifest has it: operators in preorder (numbered as the rewriter numbers them), sources, sink. Total: an operator that is
 * not known by kind is described by name, children and what it reads. Runs on the draining thread, never on the user's.
 */
public final class PlanDescription {
    private final Capture capture; // null: none
    private final List operators = new ArrayList();
    private final SourceList sources;
    private final ExpressionText expressions = new ExpressionText();
    private Map sink;
    private String command;

    private PlanDescription(Capture capture) {
        this.capture = capture;
        this.sources = new SourceList(capture);
    }

    /** The parts `operators`, `sources`, `sink` (null: nothing is written) and `command` (null: a plain query). */
    public static Map of(LogicalPlan plan, Capture capture) {
        PlanDescription description = new PlanDescription(capture);
        description.visit(plan);
        Map result = new LinkedHashMap();
        result.put("operators", description.operators);
        result.put("sources", description.sources.list());
        result.put("sink", description.sink);
        result.put("command", description.command);
        result.put("output", output(plan));
        return result;
    }

    /** The attributes that the query gives: to the driver, where nothing is written. */
    private static List output(LogicalPlan plan) {
        List result = new ArrayList();
        List attributes = Scala.list(plan.output());
        for (int i = 0; i < attributes.size(); i++) {
            result.add(OperatorText.named((org.apache.spark.sql.catalyst.expressions.Attribute) attributes.get(i)));
        }
        return result;
    }

    private int visit(LogicalPlan node) {
        int id = operators.size();
        Map operator = new LinkedHashMap();
        operators.add(operator);
        operator.put("id", Integer.valueOf(id));
        List children = new ArrayList();
        try {
            OperatorText.describe(node, operator, expressions, sources);
        } catch (RuntimeException fault) {
            operator.put("op", node.nodeName()); // described by name alone; the rest of the plan still is
            operator.put("text", String.valueOf(fault));
        }
        if (node instanceof Command && id == 0) {
            command = "execute " + node.nodeName();
            sink = SinkText.describe(node, operator);
        }
        List below = Scala.list(inputs(node));
        for (int i = 0; i < below.size(); i++) {
            children.add(Integer.valueOf(visit((LogicalPlan) below.get(i))));
        }
        operator.put("children", children);
        return id;
    }

    /** A command and the WriteFiles below it are one operator. */
    private static scala.collection.immutable.Seq inputs(LogicalPlan node) {
        if (node instanceof InsertIntoHadoopFsRelationCommand && ((InsertIntoHadoopFsRelationCommand) node).query() instanceof WriteFiles) {
            return ((InsertIntoHadoopFsRelationCommand) node).query().children();
        }
        scala.collection.immutable.Seq children = node.children();
        if (children.isEmpty() && node instanceof Command) {
            return CommandQueries.of(node);
        }
        return children;
    }
}
