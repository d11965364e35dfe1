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

/** The table and the source of a MERGE. The operator of a hidden column identifies the side. */
final class MergedSides {
    private final LogicalPlan merge;
    private final int operator;

    MergedSides(LogicalPlan merge, int operator) {
        this.merge = merge;
        this.operator = operator;
    }

    /**
     * The references of a row that a clause makes: those of the joined row. A row that is carried over has the
     * references of the table's row only.
     */
    List<Expression> references(MergeRows.Instruction clause, Rewritten child) {
        if (!carriesOver(clause)) {
            return new ArrayList<>(child.attributes());
        }
        int[] table = table(clause);
        List<Expression> result = new ArrayList<>();
        for (HiddenColumn column : child.hidden) {
            boolean own = column.operator >= table[0] && column.operator < table[1];
            result.add(own ? column.attribute : new Literal(null, DataTypes.LongType));
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
            node = node.children().apply(0);
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
        for (LogicalPlan child : Scala.list(node.children())) {
            own -= Inputs.size(child);
        }
        return at + own;
    }

    /** Whether a plan puts out a column that a clause carries over. */
    private static boolean holds(LogicalPlan side, MergeRows.Instruction clause) {
        AttributeSet output = side.outputSet();
        for (Seq<Expression> row : Scala.list(clause.outputs())) {
            for (Expression column : Scala.list(row)) {
                if (column instanceof Attribute attribute && output.contains(attribute)) {
                    return true;
                }
            }
        }
        return false;
    }
}
