package headwater.rewrite.nodes;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import scala.collection.immutable.Seq;

/**
 * The root of a plan that is checkpointed where nobody of ours can stand in between: its rows have a hidden column behind the others, and it says
 * that they have not. Spark goes by what it says, and reads as many columns of a checkpointed row.
 */
public final class UnshownProject extends Project implements HiddenNode {
    private final LogicalPlan original;

    public UnshownProject(Seq columns, LogicalPlan child, LogicalPlan original) {
        super(columns, child);
        this.original = original;
    }

    public Seq output() {
        return original.output();
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
        return new UnshownProject(projectList(), child, original);
    }

    public Seq otherCopyArgs() {
        return Scala.seq((Object) original);
    }

    public String nodeName() {
        return "Project";
    }
}
