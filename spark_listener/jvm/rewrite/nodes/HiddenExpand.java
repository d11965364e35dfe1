package headwater.rewrite.nodes;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import scala.collection.immutable.Seq;

/** An Expand with hidden columns that reports the original's statistics. */
public final class HiddenExpand extends Expand implements HiddenNode {
    private final Expand original;

    public HiddenExpand(Seq<Seq<Expression>> projections, Seq<Attribute> output, LogicalPlan child, Expand original) {
        super(projections, output, child);
        this.original = original;
    }

    public Statistics stats() {
        return VisibleStatistics.of(this);
    }

    public LogicalPlan original() {
        return original;
    }

    public LogicalPlan visible(LogicalPlan over) {
        return new Expand(projections(), VisibleStatistics.visible(output()), over);
    }

    public Expand withNewChildInternal(LogicalPlan child) {
        return new HiddenExpand(projections(), output(), child, original);
    }

    public Seq<Object> otherCopyArgs() {
        return Scala.seq(original); // TreeNode copies by calling the constructor with these after the product's elements
    }

    public String nodeName() {
        return "Expand";
    }
}
