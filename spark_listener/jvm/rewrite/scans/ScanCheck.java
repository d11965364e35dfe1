package headwater.rewrite.scans;

import headwater.rewrite.core.Refused;
import headwater.rewrite.scans.formats.RecordFormat;
import headwater.rewrite.scans.formats.RecordFormats;
import headwater.shim.Scala;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Finds the scans of files whose records can be numbered exactly, and found again by number. */
public final class ScanCheck {
    private ScanCheck() {}

    /**
     * Throws Refused if Spark would push filters into a reader that fails at the first bad record. Our reader gets no
     * filters, because it counts every record, and it would fail at records that the filters skip.
     */
    public static void checkFilters(LogicalRelation scan, HadoopFsRelation relation, LogicalPlan plan) {
        RecordFormat format = RecordFormats.of(relation.fileFormat());
        boolean fails = "failfast".equalsIgnoreCase(RecordFormats.options(relation).get("mode"));
        if (format != null && format.pushesFilters() && fails && filters(plan, scan)) {
            throw new Refused("Scan " + relation.fileFormat(), "with mode FAILFAST a filter decides which bad records fail the query");
        }
    }

    /** Whether a filter stands over a scan, with nothing but projections between, anywhere in a plan. */
    private static boolean filters(LogicalPlan node, LogicalRelation scan) {
        if (node instanceof Filter filter && reads(filter.child(), scan)) {
            return true;
        }
        List<LogicalPlan> below = Scala.list(node.children());
        below.addAll(Scala.list(node.subqueries()));
        for (LogicalPlan plan : below) {
            if (filters(plan, scan)) {
                return true;
            }
        }
        return false;
    }

    private static boolean reads(LogicalPlan node, LogicalRelation scan) {
        LogicalPlan below = node;
        while (below instanceof Project || below instanceof Filter) {
            below = below.children().apply(0);
        }
        return below instanceof LogicalRelation && below.outputSet().equals(scan.outputSet());
    }

    /** The format of a scan. Throws Refused, naming the scan, where its records cannot be numbered. */
    public static RecordFormat check(LogicalRelation scan, HadoopFsRelation relation) {
        RecordFormat format = RecordFormats.of(relation.fileFormat());
        String name = "Scan " + relation.fileFormat();
        if (format == null) {
            throw new Refused(name, "records of this format are not numbered yet");
        }
        if (scan.isStreaming()) {
            throw new Refused(name, "streams are not captured yet");
        }
        Attribute metadata = MetadataColumn.of(scan);
        if (scan.output().size() != relation.schema().length() + (metadata == null ? 0 : 1)) {
            throw new Refused(name, "which columns are read is not understood");
        }
        if (metadata != null && !format.readsMetadata()) {
            throw new Refused(name, "a query that reads the hidden column _metadata is not captured yet");
        }
        for (AttributeReference reference : Scala.list(scan.output())) {
            String column = reference.name();
            if (column.startsWith("_headwater_") || column.equals("_tmp_metadata_row_index")) {
                throw new Refused(name, "a column is called " + column);
            }
        }
        Map<String, String> options = RecordFormats.options(relation);
        format.check(name, relation, options);
        return format;
    }
}
