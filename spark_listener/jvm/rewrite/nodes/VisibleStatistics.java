package headwater.rewrite.nodes;

import headwater.rewrite.core.HiddenColumn;
import headwater.shim.Scala;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.LogicalQueryStage;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec;
import scala.collection.immutable.Seq;
import scala.math.BigInt;

/**
 * The statistics of a plan without hidden columns. Spark chooses join strategies by them. Before the query runs, they
 * are the statistics of the original plan. Once stages have run, adaptive execution uses what they counted, and a node
 * above them must do the same.
 */
final class VisibleStatistics {
    private static final long WIDTH = 8L; // bytes that a hidden column takes in a row of a shuffle or a cache

    private VisibleStatistics() {}

    static Statistics of(LogicalPlan node) {
        if (node.statsCache().isEmpty()) { // adaptive execution empties it when a stage has run
            HiddenNode hidden = (HiddenNode) node;
            node.statsCache_$eq(Scala.some(isMeasured(node) ? measured(node, hidden) : hidden.original().stats()));
        }
        return node.statsCache().get();
    }

    private static Statistics measured(LogicalPlan node, HiddenNode hidden) {
        try {
            return hidden.visible(weighed(node.children().apply(0))).stats();
        } catch (Exception fault) { // an estimate is not worth a query
            return hidden.original().stats();
        } catch (AssertionError fault) { // what Scala's assert throws
            return hidden.original().stats();
        }
    }

    /** Whether a part of the plan has run, so that its size is known. */
    private static boolean isMeasured(LogicalPlan node) {
        if (node instanceof LogicalQueryStage) {
            return true;
        }
        for (LogicalPlan child : Scala.list(node.children())) {
            if (isMeasured(child)) {
                return true;
            }
        }
        return false;
    }

    /** The columns that are not hidden. */
    static <T> Seq<T> visible(Seq<T> columns) {
        List<T> result = new ArrayList<>();
        for (T each : Scala.list(columns)) {
            if (!isHidden(each)) {
                result.add(each);
            }
        }
        return Scala.seq(result);
    }

    private static boolean isHidden(Object column) {
        return column instanceof NamedExpression named && named.name().startsWith(HiddenColumn.PREFIX);
    }

    /** A stand-in for a plan: its columns and size without hidden columns. */
    private static LogicalPlan weighed(LogicalPlan node) {
        return new Weighed(visible(node.output()), node, sized(node));
    }

    private static Statistics sized(LogicalPlan node) {
        if (node instanceof LogicalQueryStage logicalQueryStage) {
            return discounted(logicalQueryStage);
        }
        if (node instanceof HiddenNode || node.children().isEmpty()) {
            return node.stats();
        }
        List<LogicalPlan> children = Scala.list(node.children());
        for (int i = 0; i < children.size(); i++) {
            children.set(i, weighed(children.get(i)));
        }
        return node.withNewChildren(Scala.seq(children)).stats();
    }

    /** The counts of a stage without the bytes of its hidden columns. Before the stage has run, its estimate does not include them. */
    private static Statistics discounted(LogicalQueryStage node) {
        Statistics known = node.stats();
        return known.isRuntime() ? without(known, hiddenColumns(node.physicalPlan())) : known;
    }

    /** The counted size without the bytes of hidden columns. */
    static Statistics without(Statistics counted, long columns) {
        if (columns == 0L || counted.rowCount().isEmpty()) {
            return counted;
        }
        BigInteger rows = counted.rowCount().get().bigInteger();
        BigInteger size = counted.sizeInBytes().bigInteger().subtract(rows.multiply(BigInteger.valueOf(WIDTH * columns)));
        return counted.copy(new BigInt(size.max(BigInteger.ONE)), counted.rowCount(), counted.attributeStats(), counted.isRuntime());
    }

    private static long hiddenColumns(SparkPlan plan) {
        if (plan instanceof TableCacheQueryStageExec) {
            return 0L; // HiddenCache says its size without them
        }
        if (plan instanceof QueryStageExec) {
            List<Attribute> output = Scala.list(plan.output());
            return output.size() - visible(plan.output()).size();
        }
        return plan.children().isEmpty() ? 0L : hiddenColumns(plan.children().apply(0));
    }

    /** A node with given statistics. The node only reports them, and never runs. */
    private static final class Weighed extends Project {
        private final Statistics known;

        Weighed(Seq<? extends NamedExpression> columns, LogicalPlan child, Statistics known) {
            super(Scala.widened(columns), child);
            this.known = known;
        }

        public Statistics stats() {
            return known;
        }
    }
}
