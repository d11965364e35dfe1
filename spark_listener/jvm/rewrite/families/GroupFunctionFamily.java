package headwater.rewrite.families;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.functions.EnclosedFunctions;
import headwater.rewrite.keys.KeyHash;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.tap.GivenReference;
import headwater.tap.SegmentSpec;
import headwater.tap.TaskFault;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapCoGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInArrow;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsInPandas;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import scala.collection.immutable.Seq;

/**
 * Python functions over groups, and over pairs of groups of equal keys. A result row depends on all rows of its group.
 * Each input row is tapped with the hash of its key, as for an aggregate. The worker returns the hash with each result
 * row. For keys of common types the worker computes the hash. For other keys the hash goes to the worker in a hidden
 * column, which the program's function does not see (EnclosedFunctions).
 */
public final class GroupFunctionFamily extends Family {
    private static final int MOST_ARGUMENTS = 20000; // in the description: each column has all
    private static final int SECOND_SIDE = 1 << 20; // added to its partitions' numbers: both sides write one boundary

    public boolean takes(LogicalPlan node) {
        return node instanceof FlatMapGroupsInPandas || node instanceof FlatMapGroupsInArrow || isOfTwo(node);
    }

    private static boolean inPandas(LogicalPlan node) {
        return node instanceof FlatMapGroupsInPandas || node instanceof FlatMapCoGroupsInPandas;
    }

    private static boolean isOfTwo(LogicalPlan node) {
        return node instanceof FlatMapCoGroupsInPandas || node instanceof FlatMapCoGroupsInArrow;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.checkArguments(node);
        Expression function = function(node);
        String kinds = kinds(node);
        Expression enclosed = EnclosedFunctions.of(function, node.nodeName(), kinds);
        List<LogicalPlan> inputs = Scala.list(node.children());
        List<Expression> hashes = new ArrayList<>(); // a side
        List<Expression> checks = new ArrayList<>(); // likewise; null: the hash is the key itself
        for (int i = 0; i < inputs.size(); i++) {
            hashes.add(KeyHash.narrowed(KeyHash.ofSide(keys(node, i), node.nodeName(), rewriter.capture)));
            checks.add(KeyHash.checkOfSide(keys(node, i), node.nodeName()));
        }
        LogicalPlan original = isOfTwo(node) ? node : Boundary.keyed(hashes.get(0), inputs.get(0));
        Boundary boundary = rewriter.boundary(SegmentSpec.GROUP, operator, original);
        boundary.column("key", null, 0);
        if (checks.get(0) != null) {
            boundary.column("check", null, 0);
        }
        List<Rewritten> children = new ArrayList<>();
        for (LogicalPlan input : inputs) {
            Rewritten child = rewriter.rewrite(input);
            boundary.hidden(child, new ArrayList<>());
            children.add(child);
        }
        Map<Object, Object> renewed = new IdentityHashMap<>();
        for (int i = 0; i < inputs.size(); i++) {
            renewed.put(inputs.get(i), side(node, i, hashes.get(i), checks.get(i), kinds == null, children, boundary, rewriter));
        }
        Attribute given = new AttributeReference(
            EnclosedFunctions.HIDDEN, DataTypes.LongType, true, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
        List<Attribute> output = Scala.list(node.output());
        output.add(given);
        renewed.put(function, enclosed);
        renewed.put(node.output(), Scala.seq(output));
        LogicalPlan renewedNode = Nodes.renewed(node, renewed);
        TaskFault lacking = new TaskFault(node.nodeName(), "of some rows the Python worker did not say which group they are of", rewriter.capture.reports);
        Alias reference = Rewriter.alias(new GivenReference(Scala.seq(given), lacking), "group");
        List<NamedExpression> columns = Scala.list(node.output());
        columns.add(reference);
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(new HiddenColumn(reference.toAttribute(), operator));
        return new Rewritten(new HiddenProject(Scala.seq(columns), renewedNode, node), hidden);
    }

    /** The types of the hashed values, in the notation of python_functions/key_hash.py. Null if the worker cannot compute the hash. */
    private static String kinds(LogicalPlan node) {
        String result = null;
        for (int i = 0; i < node.children().size(); i++) {
            List<Expression> keys = keys(node, i);
            String kinds = KeyHash.kinds(keys);
            boolean bare = node.children().apply(i).output().size() == keys.size(); // PySpark takes a frame without columns for
            if (kinds == null || bare || (result != null && !result.equals(kinds))) { // one without rows, and looks for the key in the other
                return null;
            }
            if (inPandas(node) && kinds.indexOf('s') >= 0) { // to ask for a key decodes it, which fails for text that is no UTF-8
                return null;
            }
            result = kinds;
        }
        return result;
    }

    /** An input, tapped: its own columns and, if it is `sent` to the worker, the hash of the row's key. */
    private static LogicalPlan side(
            LogicalPlan node, int side, Expression hash, Expression check, boolean sent, List<Rewritten> children, Boundary boundary, Rewriter rewriter) {
        LogicalPlan input = node.children().apply(side);
        Rewritten child = children.get(side);
        List<NamedExpression> columns = Scala.list(child.plan.output());
        List<Attribute> seen = Scala.list(input.output());
        List<Expression> values = new ArrayList<>();
        if (sent) {
            Alias key = Rewriter.alias(hash, "group");
            columns.add(key);
            seen.add(key.toAttribute());
            values.add(key.toAttribute());
        } else {
            values.add(hash);
        }
        if (check != null) {
            values.add(check);
        }
        for (int i = 0; i < children.size(); i++) {
            for (Attribute reference : children.get(i).attributes()) {
                values.add(i == side ? reference : new Literal(null, DataTypes.LongType));
            }
        }
        Boundary own = boundary;
        if (side > 0) {
            own = rewriter.capture.again(boundary.number);
            own.columns.addAll(boundary.columns);
            own.firstPartition = SECOND_SIDE;
        }
        LogicalPlan hashed = sent ? new HiddenProject(Scala.seq(columns), child.plan, input) : child.plan;
        LogicalPlan tapped = Rewriter.tapped(hashed, values, rewriter.capture.sink(own));
        return new HiddenProject(Scala.seq(seen), tapped, input);
    }

    private static Expression function(LogicalPlan node) {
        if (isOfTwo(node)) {
            return node instanceof FlatMapCoGroupsInPandas flatMapCoGroupsInPandas
                ? flatMapCoGroupsInPandas.functionExpr() : ((FlatMapCoGroupsInArrow) node).functionExpr();
        }
        return node instanceof FlatMapGroupsInPandas flatMapGroupsInPandas
            ? flatMapGroupsInPandas.functionExpr() : ((FlatMapGroupsInArrow) node).functionExpr();
    }

    /** The keys by which the rows of a side are grouped. */
    private static List<Expression> keys(LogicalPlan node, int side) {
        Seq<Attribute> keys;
        if (node instanceof FlatMapCoGroupsInPandas flatMapCoGroupsInPandas) {
            keys = side == 0 ? flatMapCoGroupsInPandas.leftAttributes() : flatMapCoGroupsInPandas.rightAttributes();
        } else if (node instanceof FlatMapCoGroupsInArrow flatMapCoGroupsInArrow) {
            keys = side == 0 ? flatMapCoGroupsInArrow.leftAttributes() : flatMapCoGroupsInArrow.rightAttributes();
        } else {
            keys = node instanceof FlatMapGroupsInPandas flatMapGroupsInPandas
                ? flatMapGroupsInPandas.groupingAttributes() : ((FlatMapGroupsInArrow) node).groupingAttributes();
        }
        return Scala.list(keys);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.GROUP;
    }

    /** Every column is made of all columns of all rows, as far as anybody but the function knows. */
    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        List<Map<String, Object>> keys = new ArrayList<>();
        for (int i = 0; i < node.children().size(); i++) {
            keys.addAll(OperatorText.all(keys(node, i), expressions));
        }
        operator.put("keys", keys);
        Map<String, Object> applied = new LinkedHashMap<>(expressions.outermost(function(node)));
        applied.put("aggregate", true);
        List<Map<String, Object>> defines = new ArrayList<>();
        List<Attribute> output = Scala.list(node.output());
        boolean wide = (long) output.size() * ((List<?>) applied.get("args")).size() > MOST_ARGUMENTS;
        for (int i = 0; i < output.size(); i++) {
            Map<String, Object> definition = OperatorText.named(output.get(i));
            Map<String, Object> expression = new LinkedHashMap<>(applied);
            expression.put("type", definition.get("type"));
            if (wide && i > 0) { // what is read the first one says
                expression.put("args", new ArrayList<>());
                expression.put("truncated", true);
            }
            definition.put("expr", expression);
            defines.add(definition);
        }
        operator.put("defines", defines);
        operator.put("whole", true);
    }
}
