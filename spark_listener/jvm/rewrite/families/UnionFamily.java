package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
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
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.DataTypes;

/** Unions go by position: each branch puts out the hidden columns of all, its own filled and the others' null. */
public final class UnionFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof Union;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        List branches = Scala.list(node.children());
        List rewritten = new ArrayList();
        List slots = new ArrayList(); // of HiddenColumn, as the branches have them
        for (int i = 0; i < branches.size(); i++) {
            Rewritten branch = rewriter.rewrite((LogicalPlan) branches.get(i));
            rewritten.add(branch);
            slots.addAll(branch.hidden);
        }
        List children = new ArrayList();
        int begin = 0;
        for (int i = 0; i < branches.size(); i++) {
            LogicalPlan original = (LogicalPlan) branches.get(i);
            Rewritten branch = (Rewritten) rewritten.get(i);
            List columns = Rewriter.visible(branch);
            int end = begin + branch.hidden.size();
            for (int slot = 0; slot < slots.size(); slot++) {
                boolean own = slot >= begin && slot < end;
                Object value = own ? ((HiddenColumn) branch.hidden.get(slot - begin)).attribute : new Literal(null, DataTypes.LongType);
                columns.add(Rewriter.alias((org.apache.spark.sql.catalyst.expressions.Expression) value, "branch"));
            }
            begin = end;
            children.add(new HiddenProject(Scala.seq(columns), branch.plan, original));
        }
        LogicalPlan union = (LogicalPlan) node.withNewChildren(Scala.seq(children));
        List output = Scala.list(union.output());
        List hidden = new ArrayList();
        int first = output.size() - slots.size();
        for (int slot = 0; slot < slots.size(); slot++) {
            hidden.add(((HiddenColumn) slots.get(slot)).as((Attribute) output.get(first + slot)));
        }
        return new Rewritten(union, hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.UNION;
    }

    public void describe(LogicalPlan node, Map operator, ExpressionText expressions, LeafSources sources) {
        operator.put("defines", defines(node, expressions));
    }

    /** Each column of a union is that of one branch or another: the function `union` over the branches' attributes. */
    static List defines(LogicalPlan node, ExpressionText expressions) {
        List output = Scala.list(node.output());
        List branches = Scala.list(node.children());
        List defines = new ArrayList();
        if (!expressions.affords((long) output.size() * branches.size())) {
            return defines; // its description says that columns were left out
        }
        for (int j = 0; j < branches.size(); j++) {
            branches.set(j, Scala.list(((LogicalPlan) branches.get(j)).output())); // asked once: a projection makes its list anew each time
        }
        for (int i = 0; i < output.size(); i++) {
            List arguments = new ArrayList();
            for (int j = 0; j < branches.size(); j++) {
                arguments.add(expressions.of((Expression) ((List) branches.get(j)).get(i)));
            }
            defines.add(OperatorText.choice("union", (Attribute) output.get(i), arguments));
        }
        return defines;
    }
}
