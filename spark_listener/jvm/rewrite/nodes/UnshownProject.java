package headwater.rewrite.nodes;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.collection.immutable.Seq;

/**
 * The root of a plan that is checkpointed where nobody of ours can stand in between: its rows have a hidden column behind the others, and it says
 * that they have not. Spark goes by what it says, and reads as many columns of a checkpointed row.
 */
public final class UnshownProject extends HiddenProject {
    public UnshownProject(Seq<? extends NamedExpression> columns, LogicalPlan child, LogicalPlan original) {
        super(columns, child, original);
    }

    public Seq<Attribute> output() {
        return original().output();
    }

    public Project withNewChildInternal(LogicalPlan child) {
        return new UnshownProject(projectList(), child, original());
    }
}
