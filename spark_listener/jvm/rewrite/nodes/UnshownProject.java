package headwater.rewrite.nodes;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.collection.immutable.Seq;

/**
 * The root of a plan that is checkpointed by Spark's own code. Its rows have a hidden last column, but its declared
 * output has not. Spark uses the declared output, and reads only these columns of a checkpointed row.
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
