package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Generators that make rows of one row (explode, inline, stack, …). The columns of that row are in each result, with
 * its hidden columns.
 */
public final class GenerateFamily extends Family {
    private static final String SPARKS_OWN = "org.apache.spark.sql.catalyst.expressions.";

    public boolean takes(LogicalPlan node) {
        return node.getClass() == Generate.class;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.check(node);
        Generate generate = (Generate) node;
        String generator = generate.generator().getClass().getName();
        if (!generator.startsWith(SPARKS_OWN)) {
            // a table function of somebody else (Hive's) may keep state from row to row, and give rows when all have been read
            throw new Refused("Generate", "whether " + generator + " makes its rows of one row each is not known");
        }
        Rewritten child = rewriter.rewrite(generate.child());
        Generate renewed = Nodes.generate(generate, unrequired(generate, child), child.plan);
        return new Rewritten(renewed, child.hidden);
    }

    /** The child's columns that are not put out, by their places among those of the rewritten child. */
    private static scala.collection.immutable.Seq<Object> unrequired(Generate generate, Rewritten child) {
        List<Attribute> before = Scala.list(generate.child().output());
        List<Object> places = Scala.list(generate.unrequiredChildIndex());
        Set<ExprId> dropped = new HashSet<>();
        for (Object place : places) {
            dropped.add(before.get(((Integer) place)).exprId());
        }
        List<Attribute> after = Scala.list(child.plan.output());
        List<Integer> result = new ArrayList<>();
        for (int i = 0; i < after.size(); i++) {
            if (dropped.contains(after.get(i).exprId())) {
                result.add(i);
            }
        }
        return Scala.seq(result);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.GENERATES;
    }

    public boolean describes(LogicalPlan node) {
        return node instanceof Generate;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        Generate generate = (Generate) node;
        List<Map<String, Object>> defines = new ArrayList<>();
        for (Attribute column : Scala.list(generate.generatorOutput())) {
            Map<String, Object> definition = OperatorText.named(column);
            definition.put("expr", expressions.outermost((Expression) generate.generator()));
            defines.add(definition);
        }
        operator.put("defines", defines);
        operator.put("reads", OperatorText.reads(node));
    }
}
