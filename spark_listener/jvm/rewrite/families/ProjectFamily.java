package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import headwater.text.OperatorText;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** Projections pass hidden columns on. */
public final class ProjectFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node.getClass() == Project.class;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        Rewriter.check(node);
        Project project = (Project) node;
        Rewritten child = rewriter.rewrite(project.child());
        List<NamedExpression> columns = Scala.list(project.projectList());
        columns.addAll(child.attributes());
        return new Rewritten(new HiddenProject(Scala.seq(columns), child.plan, node), child.hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.DEFINES;
    }

    public boolean describes(LogicalPlan node) {
        return node instanceof Project;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        operator.put("op", "Project");
        operator.put("defines", OperatorText.defined(Scala.list(((Project) node).projectList()), expressions));
    }
}
