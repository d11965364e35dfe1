package headwater.describe;

import headwater.shim.Nodes;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;

/**
 * Whether Spark considers two plans equal, so that it may run one and use its rows for both. Spark compares logical
 * plans with the ids of the columns for dynamic partition pruning, and no two parts of a query share these ids. The
 * comparison of physical plans ignores them.
 */
final class EqualPlans {
    private EqualPlans() {}

    static boolean are(LogicalPlan one, LogicalPlan other) {
        if (one.canonicalized().equals(other.canonicalized())) {
            return true;
        }
        return prunes(one) && prunes(other) && placed(one).canonicalized().equals(placed(other).canonicalized());
    }

    private static boolean prunes(LogicalPlan plan) {
        return plan.containsPattern(TreePattern.DYNAMIC_PRUNING_SUBQUERY());
    }

    /** The plan with such columns named by their places. */
    private static LogicalPlan placed(LogicalPlan plan) {
        if (!prunes(plan)) {
            return plan;
        }
        List<LogicalPlan> children = Scala.list(plan.children());
        for (int i = 0; i < children.size(); i++) {
            children.set(i, placed(children.get(i)));
        }
        LogicalPlan renewed = plan.withNewChildren(Scala.seq(children));
        return renewed instanceof Filter filter ? new Filter(placed(filter.condition()), filter.child()) : renewed;
    }

    private static Expression placed(Expression part) {
        if (part instanceof DynamicPruningSubquery pruning) {
            List<Expression> keys = Scala.list(pruning.buildKeys());
            for (int i = 0; i < keys.size(); i++) {
                keys.set(i, placed(keys.get(i), Scala.list(pruning.buildQuery().output())));
            }
            return Nodes.pruning(pruning, placed(pruning.buildQuery()), Scala.seq(keys));
        }
        List<Expression> children = Scala.list(part.children());
        for (int i = 0; i < children.size(); i++) {
            children.set(i, placed(children.get(i)));
        }
        return children.isEmpty() ? part : part.withNewChildren(Scala.seq(children));
    }

    private static Expression placed(Expression key, List<Attribute> columns) {
        for (int i = 0; key instanceof Attribute && i < columns.size(); i++) {
            Attribute column = columns.get(i);
            if (column.exprId().equals(((Attribute) key).exprId())) {
                return new BoundReference(i, key.dataType(), key.nullable());
            }
        }
        List<Expression> children = Scala.list(key.children());
        List<Expression> renewed = new ArrayList<>();
        for (Expression child : children) {
            renewed.add(placed(child, columns));
        }
        return children.isEmpty() ? key : key.withNewChildren(Scala.seq(renewed));
    }
}
