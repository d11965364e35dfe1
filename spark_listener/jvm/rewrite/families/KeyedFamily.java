package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.scans.keyed.Keyed;
import headwater.rewrite.scans.keyed.KeyedSource;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Scans of sources whose records are found again by a value of their own. The reference is made of that value, above
 * the scan: nothing of how it reads changes, but that the value's column is among those read.
 */
public final class KeyedFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof LogicalRelation relation && KeyedSource.of(relation.relation()) != null;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        LogicalRelation scan = (LogicalRelation) node;
        Keyed keyed = KeyedSource.of(scan.relation()).keyed(scan, operator, rewriter);
        rewriter.capture.keyed(scan, keyed.described());
        Alias reference = Rewriter.alias(keyed.reference(), "row");
        List<NamedExpression> columns = Scala.list(scan.output());
        columns.add(reference);
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(new HiddenColumn(reference.toAttribute(), operator));
        return new Rewritten(new HiddenProject(Scala.seq(columns), scan, scan), hidden);
    }
}
