package headwater.rewrite;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.types.DataTypes;

/** Unions go by position: each branch puts out the hidden columns of all, its own filled and the others' null. */
final class UnionFamily extends Family {
    boolean takes(LogicalPlan node) {
        return node instanceof Union;
    }

    Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        List branches = Scala.list(node.children());
        List rewritten = new ArrayList();
        List operators = new ArrayList(); // of the slots
        for (int i = 0; i < branches.size(); i++) {
            Rewritten branch = rewriter.rewrite((LogicalPlan) branches.get(i));
            rewritten.add(branch);
            for (int j = 0; j < branch.hidden.size(); j++) {
                operators.add(Integer.valueOf(((Hidden) branch.hidden.get(j)).operator));
            }
        }
        List children = new ArrayList();
        int begin = 0;
        for (int i = 0; i < branches.size(); i++) {
            LogicalPlan original = (LogicalPlan) branches.get(i);
            Rewritten branch = (Rewritten) rewritten.get(i);
            List columns = Rewriter.visible(branch);
            int end = begin + branch.hidden.size();
            for (int slot = 0; slot < operators.size(); slot++) {
                boolean own = slot >= begin && slot < end;
                Object value = own ? ((Hidden) branch.hidden.get(slot - begin)).attribute : new Literal(null, DataTypes.LongType);
                columns.add(Rewriter.alias((org.apache.spark.sql.catalyst.expressions.Expression) value, "branch"));
            }
            begin = end;
            children.add(new HiddenProject(Scala.seq(columns), branch.plan, original));
        }
        LogicalPlan union = (LogicalPlan) node.withNewChildren(Scala.seq(children));
        List output = Scala.list(union.output());
        List hidden = new ArrayList();
        int first = output.size() - operators.size();
        for (int slot = 0; slot < operators.size(); slot++) {
            hidden.add(new Hidden((Attribute) output.get(first + slot), ((Integer) operators.get(slot)).intValue()));
        }
        return new Rewritten(union, hidden);
    }
}
