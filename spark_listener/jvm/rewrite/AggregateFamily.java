package headwater.rewrite;

import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Aggregates: each input row is tapped with its group's hash; above, the hash is the reference of the group. Nothing is collected. */
final class AggregateFamily extends Family {
    boolean takes(LogicalPlan node) {
        return node.getClass() == Aggregate.class;
    }

    Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Aggregate aggregate = (Aggregate) node;
        Rewriter.check(node);
        Expression hash = KeyHash.of(aggregate.groupingExpressions(), "Aggregate");
        Boundary boundary = rewriter.boundary(SegmentSpec.GROUP, operator, node);
        Rewritten child = rewriter.rewrite(aggregate.child());
        List values = new ArrayList();
        values.add(hash);
        boundary.column("key", null, 0);
        for (int i = 0; i < child.hidden.size(); i++) {
            Hidden column = (Hidden) child.hidden.get(i);
            values.add(column.attribute);
            boundary.column("ref", "operator", column.operator);
        }
        LogicalPlan tapped = Rewriter.tapped(child.plan, values, rewriter.capture.sink(boundary));
        Alias reference = Rewriter.alias(hash, "group");
        List outputs = Scala.list(aggregate.aggregateExpressions());
        outputs.add(reference);
        List hidden = new ArrayList();
        hidden.add(new Hidden(reference.toAttribute(), operator));
        LogicalPlan renewed = new HiddenAggregate(
            aggregate.groupingExpressions(), Scala.seq(outputs), tapped, aggregate.hint(), aggregate);
        return new Rewritten(renewed, hidden);
    }
}
