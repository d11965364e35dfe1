package headwater.rewrite.families;

import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.roundrobin.RoundRobinPartition;
import headwater.roundrobin.RowBytes;
import headwater.roundrobin.RowHash;
import headwater.shim.Differences;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Repartition;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.internal.SQLConf;
import scala.collection.immutable.Seq;

/**
 * `repartition(n)`. Spark sorts the rows of each task by a hash of all their bytes and then deals them out in turn. So
 * equal input gives equal partitions, and a seeded sample above depends on that. A hidden column would change the
 * partition of each row. So the rows are sorted and dealt out here, by the visible columns, as Spark does it.
 */
final class RoundRobin {
    private RoundRobin() {}

    /** Whether Spark would deal rows by what is in them. */
    static boolean deals(LogicalPlan node) {
        Repartition repartition = node instanceof Repartition ownRepartition ? ownRepartition : null;
        return repartition != null && repartition.shuffle() && repartition.numPartitions() > 1 && SQLConf.get().sortBeforeRepartition();
    }

    static LogicalPlan rewrite(Repartition node, Rewritten child) {
        Seq<Attribute> visible = node.child().output();
        List<SortOrder> order = new ArrayList<>();
        order.add(ascending(new RowHash(Scala.widened(visible))));
        order.add(ascending(new RowBytes(Scala.widened(visible))));
        LogicalPlan sorted = new Sort(Scala.seq(order), false, child.plan, Scala.none());
        Alias partition = Rewriter.alias(new RoundRobinPartition(node.numPartitions()), "partition");
        List<Attribute> columns = Scala.list(visible);
        columns.addAll(child.attributes());
        List<NamedExpression> dealt = new ArrayList<>(columns);
        dealt.add(partition);
        LogicalPlan numbered = new HiddenProject(Scala.seq(dealt), sorted, node.child());
        Expression place = Differences.byNumber(partition.toAttribute());
        LogicalPlan placed = new RepartitionByExpression(
            Scala.seq(place), numbered, Scala.some(Integer.valueOf(node.numPartitions())), Scala.none());
        return new HiddenProject(Scala.seq(columns), placed, node);
    }

    private static SortOrder ascending(Expression by) {
        return new SortOrder(by, Ascending$.MODULE$, Ascending$.MODULE$.defaultNullOrdering(), Scala.empty());
    }
}
