package headwater.rewrite.kept;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Capture;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Scala;
import headwater.tap.RowReference;
import headwater.tap.SegmentSpec;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.types.DataTypes;

/**
 * The root of a plan whose rows are cached or checkpointed. Each row is recorded when it is made, and its last column
 * keeps the reference. A partition that is computed again (it was evicted, or its executor was lost) has the references
 * of the task that computed it.
 */
public final class CacheRewrite {
    private static final String MANAGER = "org.apache.spark.sql.execution.CacheManager";

    private CacheRewrite() {}

    /** Whether this thread optimizes a plan for a checkpoint, an RDD or the cache. Spark shows that in no other way. */
    public static boolean takes(LogicalPlan plan) {
        if (plan instanceof Subquery) {
            return false; // its own root comes later
        }
        if (TappedFrame.underWay(plan) != null) {
            return true;
        }
        StackTraceElement[] calls = new Throwable().getStackTrace();
        for (StackTraceElement call : calls) {
            String method = call.getMethodName();
            if (MANAGER.equals(call.getClassName()) && caches(method)) {
                return !isRewritten(plan);
            }
        }
        return false;
    }

    private static boolean caches(String method) {
        return method.indexOf("cacheQuery") >= 0 || method.indexOf("tryRebuild") >= 0 || method.indexOf("recacheBy") >= 0;
    }

    private static boolean isRewritten(LogicalPlan plan) {
        List<Attribute> columns = Scala.list(plan.output());
        return !columns.isEmpty() && columns.get(columns.size() - 1).name().startsWith(HiddenColumn.PREFIX);
    }

    public static LogicalPlan rewrite(LogicalPlan plan, Capture capture) {
        Rewriter rewriter = new Rewriter(capture, 1);
        Boundary boundary = capture.boundary(SegmentSpec.ROWS, 0, plan);
        // Rows that do not fit into the cache are made for a reader that may stop early.
        Rewritten child = rewriter.rewriteStoppable(plan);
        List<Expression> values = new ArrayList<>();
        boundary.hidden(child, values);
        if (values.isEmpty()) { // its rows come from no record
            values.add(new Literal(null, DataTypes.LongType));
            boundary.column(HiddenColumn.REF, "operator", 1);
        }
        Alias reference = Rewriter.alias(new RowReference(Scala.seq(values), capture.sink(boundary)), Caches.column(capture));
        List<NamedExpression> columns = Scala.list(plan.output());
        columns.add(reference);
        return new HiddenProject(Scala.seq(columns), child.plan, plan);
    }
}
