package headwater.rewrite;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;

/** Cached rows, each with the reference that was cached beside it. */
final class CacheFamily extends Family {
    boolean takes(LogicalPlan node) {
        return node instanceof InMemoryRelation;
    }

    Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        InMemoryRelation relation = (InMemoryRelation) node;
        Capture cached = Caches.of(relation);
        List output = Scala.list(relation.output());
        if (cached == null || output.size() + 1 != relation.cacheBuilder().cachedPlan().output().size()) {
            throw new Refused(node.nodeName(), Caches.reason(relation));
        }
        rewriter.capture.reads(node, cached);
        Attribute column = new AttributeReference(
            "_headwater_row", DataTypes.LongType, false, Metadata.empty(), NamedExpression$.MODULE$.newExprId(), Scala.empty());
        output.add(column);
        List hidden = new ArrayList();
        hidden.add(new Hidden(column, operator));
        return new Rewritten(HiddenCache.of(relation, Scala.seq(output)), hidden);
    }
}
