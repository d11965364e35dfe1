package headwater.rewrite;

import headwater.shim.Scala;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** Projections pass hidden columns on. */
final class ProjectFamily extends Family {
    boolean takes(LogicalPlan node) {
        return node.getClass() == Project.class;
    }

    Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.check(node);
        Project project = (Project) node;
        Rewritten child = rewriter.rewrite(project.child());
        List columns = Scala.list(project.projectList());
        columns.addAll(child.attributes());
        return new Rewritten(new HiddenProject(Scala.seq(columns), child.plan, node), child.hidden);
    }
}
