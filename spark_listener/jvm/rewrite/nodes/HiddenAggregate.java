package headwater.rewrite.nodes;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.AggregateHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import scala.Option;
import scala.collection.immutable.Seq;

/** An aggregate that puts out its key's hash too, and reports the original's statistics. */
public final class HiddenAggregate extends Aggregate implements HiddenNode {
    private final Aggregate original;

    public HiddenAggregate(Seq<Expression> keys, Seq<NamedExpression> outputs, LogicalPlan child, Option<AggregateHint> hint, Aggregate original) {
        super(keys, outputs, child, hint);
        this.original = original;
    }

    public Statistics stats() {
        return VisibleStatistics.of(this);
    }

    public LogicalPlan original() {
        return original;
    }

    public LogicalPlan visible(LogicalPlan over) {
        return new Aggregate(groupingExpressions(), VisibleStatistics.visible(aggregateExpressions()), over, hint());
    }

    public Aggregate withNewChildInternal(LogicalPlan child) {
        return new HiddenAggregate(groupingExpressions(), aggregateExpressions(), child, hint(), original);
    }

    public Seq<Object> otherCopyArgs() {
        return Scala.seq(original); // TreeNode copies by calling the constructor with these after the product's elements
    }

    public String nodeName() {
        return "Aggregate";
    }
}
