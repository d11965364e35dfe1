package headwater.rewrite.families;

import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Inputs;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Accessors;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;

/** The table and the source of a MERGE: which of the two a hidden column is of, by the operator that it is about. */
final class MergedSides {
    private final LogicalPlan merge;
    private final int operator;

    MergedSides(LogicalPlan merge, int operator) {
        this.merge = merge;
        this.operator = operator;
    }

    /** The references of a row that a clause makes: those of the joined row; of one that it carries over, those of the table's row alone. */
    List references(MergeRows.Instruction clause, Rewritten child) {
        if (!carriesOver(clause)) {
            return child.attributes();
        }
        int[] table = table(clause);
        List result = new ArrayList();
        for (int i = 0; i < child.hidden.size(); i++) {
            HiddenColumn column = (HiddenColumn) child.hidden.get(i);
            boolean own = column.operator >= table[0] && column.operator < table[1];
            result.add(own ? (Expression) column.attribute : new Literal(null, DataTypes.LongType));
        }
        return result;
    }

    private static boolean carriesOver(MergeRows.Instruction clause) {
        Object context = Accessors.get(clause, "context");
        if (context == null && clause instanceof MergeRows.Keep) {
            throw new Refused("MergeRows", "this version of Spark does not tell which rows are carried over");
        }
        return context != null && context.toString().startsWith("Copy");
    }

    /** The operators of the side of the join that a clause carries over: the first, and the one behind the last. */
    private int[] table(MergeRows.Instruction clause) {
        int at = operator;
        LogicalPlan node = merge;
        while (!(node instanceof Join)) {
            if (node.children().size() != 1) {
                throw new Refused("MergeRows", "which rows are the table's cannot be told");
            }
            at = below(node, at);
            node = (LogicalPlan) node.children().apply(0);
        }
        Join join = (Join) node;
        int left = below(join, at);
        int right = left + Inputs.size(join.left());
        boolean isLeft = holds(join.left(), clause);
        if (isLeft == holds(join.right(), clause)) {
            throw new Refused("MergeRows", "which rows are the table's cannot be told");
        }
        return isLeft ? new int[] {left, right} : new int[] {right, right + Inputs.size(join.right())};
    }

    /** The number of the first operator below one. */
    private static int below(LogicalPlan node, int at) {
        int own = Inputs.size(node);
        List children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            own -= Inputs.size((LogicalPlan) children.get(i));
        }
        return at + own;
    }

    /** Whether a plan puts out a column that a clause carries over. */
    private static boolean holds(LogicalPlan side, MergeRows.Instruction clause) {
        AttributeSet output = side.outputSet();
        List rows = Scala.list(clause.outputs());
        for (int i = 0; i < rows.size(); i++) {
            List columns = Scala.list((Seq) rows.get(i));
            for (int j = 0; j < columns.size(); j++) {
                if (columns.get(j) instanceof Attribute && output.contains((Attribute) columns.get(j))) {
                    return true;
                }
            }
        }
        return false;
    }
}
