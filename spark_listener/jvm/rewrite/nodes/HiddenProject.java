package headwater.rewrite.nodes;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import scala.collection.immutable.Seq;

/** A projection with hidden columns that reports the original's statistics: eight bytes more a row would flip join strategies. */
public class HiddenProject extends Project implements HiddenNode {
    private final LogicalPlan original;

    public HiddenProject(Seq<? extends NamedExpression> columns, LogicalPlan child, LogicalPlan original) {
        super(Scala.widened(columns), child);
        this.original = original;
    }

    public Statistics stats() {
        return VisibleStatistics.of(this);
    }

    public LogicalPlan original() {
        return original;
    }

    public LogicalPlan visible(LogicalPlan over) {
        return new Project(VisibleStatistics.visible(projectList()), over);
    }

    public Project withNewChildInternal(LogicalPlan child) {
        return new HiddenProject(projectList(), child, original);
    }

    public Seq<Object> otherCopyArgs() {
        return Scala.seq(original); // TreeNode copies by calling the constructor with these after the product's elements
    }

    public String nodeName() {
        return "Project";
    }
}
