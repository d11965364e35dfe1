import headwater.rewrite.core.Inputs;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * Puts other relations in place of the scans of one query, scan by scan: the n-th that is met in the order in which a capture numbers them.
 * The plan is the one that was captured, so that what the optimizer made of the query does not depend on what is left of its tables.
 */
public final class Restrict extends Rule {
    private final List relations; // of HadoopFsRelation
    private boolean done; // the batch runs to a fixed point
    private int met;

    public Restrict(List relations) {
        this.relations = relations;
    }

    public String ruleName() {
        return "bench.truth.Restrict";
    }

    /** How many scans were met. */
    public int met() {
        return met;
    }

    public TreeNode apply(TreeNode node) {
        if (done || !(node instanceof LogicalPlan) || node instanceof Subquery) {
            return node;
        }
        if (!scans((LogicalPlan) node)) {
            return node; // what a table format asks of its own log, before the query is planned
        }
        done = true;
        return restricted((LogicalPlan) node);
    }

    private static boolean scans(LogicalPlan node) {
        List leaves = Scala.list(node.collectLeaves());
        for (int i = 0; i < leaves.size(); i++) {
            if (leaves.get(i) instanceof DataSourceV2ScanRelation) {
                return true;
            }
            if (leaves.get(i) instanceof LogicalRelation && ((LogicalRelation) leaves.get(i)).relation() instanceof HadoopFsRelation) {
                return ((HadoopFsRelation) ((LogicalRelation) leaves.get(i)).relation()).location().rootPaths().toString().indexOf("_delta_log") < 0;
            }
        }
        return !Inputs.subqueries(node).isEmpty();
    }

    private LogicalPlan restricted(LogicalPlan node) {
        if (node instanceof LogicalRelation && ((LogicalRelation) node).relation() instanceof HadoopFsRelation) {
            LogicalRelation scan = (LogicalRelation) node;
            HadoopFsRelation other = (HadoopFsRelation) relations.get(met++);
            return scan.copy(other, scan.output(), scan.catalogTable(), scan.isStreaming(), scan.stream());
        }
        if (node instanceof DataSourceV2ScanRelation) {
            return files((DataSourceV2ScanRelation) node, (HadoopFsRelation) relations.get(met++));
        }
        Map plans = new HashMap();
        List subqueries = Inputs.subqueries(node);
        for (int i = 0; i < subqueries.size(); i++) {
            ScalarSubquery subquery = (ScalarSubquery) subqueries.get(i);
            plans.put(subquery.exprId(), subquery.withNewPlan(restricted((LogicalPlan) subquery.plan())));
        }
        LogicalPlan own = plans.isEmpty() ? node : (LogicalPlan) node.mapExpressions(new Put(plans));
        List children = Scala.list(own.children());
        Object[] renewed = new Object[children.size()];
        int last = renewed.length - 1;
        if (node instanceof WithCTE) { // a capture numbers the plan first, then the definitions
            renewed[last] = restricted((LogicalPlan) children.get(last));
        }
        for (int i = 0; i < renewed.length; i++) {
            renewed[i] = renewed[i] != null ? renewed[i] : restricted((LogicalPlan) children.get(i));
        }
        return renewed.length == 0 ? own : (LogicalPlan) own.withNewChildren(Scala.seq(java.util.Arrays.asList(renewed)));
    }

    /** Files in the place of a table of a connector. The columns that its scan gives are those of the files by their names. */
    private static LogicalPlan files(DataSourceV2ScanRelation scan, HadoopFsRelation other) {
        Map given = new HashMap();
        List output = Scala.list(scan.output());
        for (int i = 0; i < output.size(); i++) {
            given.put(((Attribute) output.get(i)).name(), output.get(i));
        }
        LogicalRelation whole = LogicalRelation$.MODULE$.apply(other, false);
        List columns = Scala.list(whole.output());
        for (int i = 0; i < columns.size(); i++) {
            Object known = given.remove(((Attribute) columns.get(i)).name());
            columns.set(i, known == null ? columns.get(i) : known);
        }
        if (!given.isEmpty()) {
            throw new IllegalStateException("the files have no columns " + given.keySet());
        }
        return new Project(scan.output(), whole.copy(other, Scala.seq(columns), whole.catalogTable(), false, whole.stream()));
    }

    private static final class Put extends scala.runtime.AbstractFunction1 {
        private final Map plans;

        Put(Map plans) {
            this.plans = plans;
        }

        public Object apply(Object expression) {
            if (expression instanceof ScalarSubquery && plans.containsKey(((ScalarSubquery) expression).exprId())) {
                return plans.get(((ScalarSubquery) expression).exprId());
            }
            return ((Expression) expression).mapChildren(this);
        }
    }
}
