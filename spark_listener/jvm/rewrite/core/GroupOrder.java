package headwater.rewrite.core;

import headwater.rewrite.nodes.HiddenAggregate;
import headwater.rewrite.nodes.TwoLevelAggregate;
import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.aggregate.HashAggregateExec;
import scala.collection.immutable.Seq;

/** The planner's strategy for a DISTINCT or a GROUP BY without functions. The groups keep their order where capture adds a function. */
public final class GroupOrder extends SparkStrategy {
    private final Captures captures;

    public GroupOrder(Captures captures) {
        this.captures = captures;
    }

    public Seq<SparkPlan> apply(LogicalPlan plan) {
        try {
            return plan instanceof HiddenAggregate hiddenAggregate && isOfOursAlone(hiddenAggregate) ? planned(plan) : Scala.empty();
        } catch (Throwable fault) { // Spark's own strategy plans it
            captures.fault(fault);
            return Scala.empty();
        }
    }

    private static Seq<SparkPlan> planned(LogicalPlan plan) {
        SparkSession session = SparkSession.active();
        List<SparkPlan> steps = Scala.list(session.sessionState().planner().Aggregation().apply(plan));
        if (steps.size() != 1 || steps.get(0).getClass() != HashAggregateExec.class) {
            return Scala.empty();
        }
        return Scala.seq(TwoLevelAggregate.of((HashAggregateExec) steps.get(0)));
    }

    private static boolean isOfOursAlone(HiddenAggregate aggregate) {
        return hasFunctions(aggregate) && !hasFunctions((Aggregate) aggregate.original());
    }

    private static boolean hasFunctions(Aggregate aggregate) {
        for (NamedExpression output : Scala.list(aggregate.aggregateExpressions())) {
            if (holdsFunction((Expression) output)) {
                return true;
            }
        }
        return false;
    }

    private static boolean holdsFunction(Expression expression) {
        List<Expression> children = Scala.list(expression.children());
        boolean holds = expression instanceof AggregateExpression;
        for (int i = 0; !holds && i < children.size(); i++) {
            holds = holdsFunction(children.get(i));
        }
        return holds;
    }
}
