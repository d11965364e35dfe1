package headwater.rewrite.nodes;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import scala.collection.immutable.Seq;

/** A projection with hidden columns that reports the original's statistics: eight bytes more a row would flip join strategies. */
public class HiddenProject extends Project implements HiddenNode {
    private final LogicalPlan original;

    public HiddenProject(Seq columns, LogicalPlan child, LogicalPlan original) {
        super(columns, child);
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

    public Seq otherCopyArgs() {
        return Scala.seq((Object) original); // TreeNode copies by calling the constructor with these after the product's elements
    }

    public String nodeName() {
        return "Project";
    }
}
