package headwater.rewrite.families;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.kept.Caches;
import headwater.rewrite.kept.Materialized;
import headwater.rewrite.nodes.HiddenCache;
import headwater.shim.Scala;
import headwater.text.Behaviour;
import headwater.text.ExpressionText;
import headwater.text.LeafSources;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;

/** Cached rows, each with the reference in its last column. */
public final class CacheFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof InMemoryRelation;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        InMemoryRelation relation = (InMemoryRelation) node;
        Capture cached = Caches.of(relation);
        List<Attribute> output = Scala.list(relation.output());
        if (cached == null || output.size() + 1 != relation.cacheBuilder().cachedPlan().output().size()) {
            throw new Refused(node.nodeName(), Caches.reason(relation));
        }
        rewriter.capture.reads(node, cached);
        HiddenColumn row = HiddenColumn.row(operator);
        output.add(row.attribute);
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(row);
        return new Rewritten(HiddenCache.of(relation, Scala.seq(output)), hidden);
    }

    public String behaviour(LogicalPlan node) {
        return Behaviour.KEPT;
    }

    public void describe(LogicalPlan node, Map<String, Object> operator, ExpressionText expressions, LeafSources sources) {
        Materialized.describe(node, operator);
    }
}
