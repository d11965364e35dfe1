package headwater.rewrite.delta;

import headwater.rewrite.core.Boundary;
import headwater.rewrite.core.Capture;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.shim.Scala;
import headwater.tap.SegmentSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Empty2Null;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;

/**
 * Writes of Delta. Each command (a save, MERGE, UPDATE, DELETE) ends in a query whose rows Delta's writer takes in
 * order. The sink's tap is on top of that query. Delta sorts the rows by partition columns unless they are sorted, so
 * the same sort is added below the tap.
 */
public final class DeltaWrite {
    private static final String DELTA = "org.apache.spark.sql.delta.";
    private static final String WRITER = DELTA + "files.TransactionalWrite";
    private static final String COMPACTION = DELTA + "commands.OptimizeExecutor";
    private static final String NAME = "Write Delta";

    private DeltaWrite() {}

    /**
     * The transaction for which this thread optimizes the written query. Null if it optimizes another query. Spark
     * gives no other way to find it.
     */
    public static TableCommit underWay(LogicalPlan plan) {
        if (plan instanceof Subquery || !DeltaCommit.isThere()) {
            return null; // of a subquery the root comes later
        }
        StackTraceElement[] calls = new Throwable().getStackTrace();
        for (int i = 0; i < calls.length; i++) {
            if (calls[i].getClassName().startsWith(DELTA)) { // the innermost of them: Delta asks its own log on the way, too
                boolean writes = calls[i].getClassName().startsWith(WRITER) && calls[i].getMethodName().indexOf("writeFiles") >= 0;
                return !writes ? null : compacts(calls, i) ? Compaction.of(plan) : DeltaCommit.active();
            }
        }
        return null;
    }

    private static boolean compacts(StackTraceElement[] calls, int from) {
        for (int i = from; i < calls.length; i++) {
            if (calls[i].getClassName().startsWith(COMPACTION)) {
                return true;
            }
        }
        return false;
    }

    /** With the sink's tap. `part`: the number of the query, where a command rewrites a table by several. */
    public static LogicalPlan rewrite(LogicalPlan plan, TableCommit commit, Capture capture, int part) {
        List<Attribute> partition = partition(plan, commit);
        check(plan, commit, partition);
        Rewriter rewriter = new Rewriter(capture, 1);
        Boundary boundary = part == 0 ? capture.boundary(SegmentSpec.SINK, 0, plan) : capture.again(0);
        boundary.placed = true;
        boundary.firstPartition = Compaction.firstPartition(part);
        Rewritten child = rewriter.rewrite(plan);
        List<Expression> values = new ArrayList<>();
        boundary.hidden(child, values);
        if (values.isEmpty()) { // what is written comes from no record, which is its lineage
            values.add(new Literal(null, DataTypes.LongType));
            boundary.column(HiddenColumn.REF, "operator", 1);
        }
        if (capture.inParts && capture.boundaries.size() > 1) {
            throw new Refused(NAME, "more than a scan is recorded of a table that is rewritten by several queries");
        }
        if (!boundary.columns.equals(capture.boundaries.get(0).columns)) {
            throw new Refused(NAME, "the queries that rewrite the table are not alike");
        }
        LogicalPlan tapped = Rewriter.tapped(sorted(child.plan, partition), values, capture.sink(boundary));
        return new HiddenProject(plan.output(), tapped, plan);
    }

    private static LogicalPlan sorted(LogicalPlan rows, List<Attribute> partition) {
        if (partition.isEmpty()) {
            return rows;
        }
        List<NamedExpression> columns = Scala.list(rows.output());
        List<SortOrder> orders = new ArrayList<>();
        boolean texts = false;
        for (Attribute column : partition) {
            orders.add(new SortOrder(column, Ascending$.MODULE$, Ascending$.MODULE$.defaultNullOrdering(), Scala.empty()));
            for (int j = 0; column.dataType() instanceof StringType && j < columns.size(); j++) {
                if (columns.get(j) instanceof Attribute attribute && attribute.exprId().equals(column.exprId())) {
                    // an empty text is null in the name of a folder, and Delta's writer makes it so before it sorts
                    columns.set(j, new Alias(
                        new Empty2Null(column), column.name(), column.exprId(), column.qualifier(), Scala.none(), Scala.empty()));
                    texts = true;
                }
            }
        }
        return new Sort(Scala.seq(orders), false, texts ? new Project(Scala.seq(columns), rows) : rows, Scala.none());
    }

    private static List<Attribute> partition(LogicalPlan plan, TableCommit commit) {
        List<Attribute> result = new ArrayList<>();
        List<Object> names = commit.partitionColumns();
        List<Attribute> output = Scala.list(plan.output());
        for (Object name : names) {
            for (Attribute column : output) {
                if (column.name().equals(name)) {
                    result.add(column);
                }
            }
        }
        if (result.size() != names.size()) {
            throw new Refused(NAME, "which columns the table is partitioned by is not understood");
        }
        return result;
    }

    private static void check(LogicalPlan plan, TableCommit commit, List<Attribute> partition) {
        Refused.untried(NAME, "Delta");
        SQLConf conf = SQLConf.get();
        Map<?, Object> properties = commit.properties();
        if (commit.path() == null) {
            throw new Refused(NAME, "this version of Delta is not understood");
        }
        if (conf.maxConcurrentOutputFileWriters() > 0) {
            throw new Refused(NAME, "concurrent output writers (spark.sql.maxConcurrentOutputFileWriters) may sort rows after they were recorded");
        }
        if (!"false".equals(conf.getConfString("spark.databricks.delta.optimizeWrite.enabled", "false"))
            || !"false".equals(text(properties, "delta.autoOptimize.optimizeWrite")) || !"false".equals(text(properties, "delta.autoOptimize"))) {
            throw new Refused(NAME, "an optimized write moves rows after they were recorded");
        }
        if (!"true".equals(conf.getConfString("spark.databricks.delta.stats.collect", "true"))) {
            throw new Refused(NAME, "without statistics (spark.databricks.delta.stats.collect) it is not known how many rows went to which file");
        }
        for (Attribute column : Scala.list(plan.output())) {
            String name = column.name();
            if (name.equals("_change_type") || name.equals("__is_cdc")) {
                throw new Refused(NAME, "a change feed (delta.enableChangeDataFeed) is written beside the table's rows");
            }
        }
        for (Attribute column : partition) {
            if (column.dataType() instanceof StringType && isConstrained(commit, properties)) {
                throw new Refused(NAME, "with constraints and a partition column of text, Delta sorts rows after they were recorded");
            }
        }
    }

    private static boolean isConstrained(TableCommit commit, Map<?, Object> properties) {
        for (Object name : properties.keySet()) {
            if (String.valueOf(name).startsWith("delta.constraints.")) {
                return true;
            }
        }
        StructField[] fields = commit.schema().fields();
        for (StructField field : fields) {
            if (!field.nullable() || !field.metadata().equals(org.apache.spark.sql.types.Metadata.empty()) && !isMapped(field)) {
                return true; // NOT NULL, an invariant, a length, an expression
            }
        }
        return false;
    }

    private static boolean isMapped(StructField field) {
        return field.metadata().contains("delta.columnMapping.physicalName");
    }

    private static String text(Map<?, Object> properties, String name) {
        Object found = properties.get(name);
        return found == null ? "false" : String.valueOf(found);
    }
}
