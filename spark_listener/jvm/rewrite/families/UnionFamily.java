package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Scala;
import headwater.shim.Untyped;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.DataTypes;

/** Unions match columns by position. Each branch outputs the hidden columns of all branches, with null for those of other branches. */
public final class UnionFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof Union;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        List<LogicalPlan> branches = Scala.list(node.children());
        List<Rewritten> rewritten = new ArrayList<>();
        List<HiddenColumn> slots = new ArrayList<>(); // as the branches have them
        for (LogicalPlan plan : branches) {
            Rewritten branch = rewriter.rewrite(plan);
            rewritten.add(branch);
            slots.addAll(branch.hidden);
        }
        List<HiddenProject> children = new ArrayList<>();
        int begin = 0;
        for (int i = 0; i < branches.size(); i++) {
            LogicalPlan original = branches.get(i);
            Rewritten branch = rewritten.get(i);
            List<NamedExpression> columns = Rewriter.visible(branch);
            int end = begin + branch.hidden.size();
            for (int slot = 0; slot < slots.size(); slot++) {
                boolean own = slot >= begin && slot < end;
                Object value = own ? branch.hidden.get(slot - begin).attribute : new Literal(null, DataTypes.LongType);
                columns.add(Rewriter.alias((org.apache.spark.sql.catalyst.expressions.Expression) value, "branch"));
            }
            begin = end;
            children.add(new HiddenProject(Scala.seq(columns), branch.plan, original));
        }
        LogicalPlan union = node.withNewChildren(Scala.seq(children));
        List<Attribute> output = Scala.list(union.output());
        List<HiddenColumn> hidden = new ArrayList<>();
        int first = output.size() - slots.size();
        for (int slot = 0; slot < slots.size(); slot++) {
            hidden.add(slots.get(slot).as(output.get(first + slot)));
        }
        return new Rewritten(union, hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.UNION;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        operator.put("defines", defines(node, expressions));
    }

    /** Each column of a union is that of one branch or another: the function `union` over the branches' attributes. */
    static List<Map<String, Object>> defines(LogicalPlan node, ExpressionText expressions) {
        List<Attribute> output = Scala.list(node.output());
        List<Object> branches = Scala.list(node.children());
        List<Map<String, Object>> defines = new ArrayList<>();
        if (!expressions.affords((long) output.size() * branches.size())) {
            return defines; // its description says that columns were left out
        }
        for (int j = 0; j < branches.size(); j++) {
            branches.set(j, Scala.list(((LogicalPlan) branches.get(j)).output())); // asked once: a projection makes its list anew each time
        }
        for (int i = 0; i < output.size(); i++) {
            List<Map<String, Object>> arguments = new ArrayList<>();
            for (Object branch : branches) {
                arguments.add(expressions.of(Untyped.<List<Expression>>value(branch).get(i)));
            }
            defines.add(OperatorText.choice("union", output.get(i), arguments));
        }
        return defines;
    }
}
