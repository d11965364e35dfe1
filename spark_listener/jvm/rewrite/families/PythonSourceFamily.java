package headwater.rewrite.families;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.source.MemoryRelation;
import headwater.source.NumberedPythonScan;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * Scans of data sources that are written in Python (`pyspark.sql.datasource`): a record is the n-th row that the source
 * gave of a partition.
 */
public final class PythonSourceFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof DataSourceV2ScanRelation scan && NumberedPythonScan.is(scan.scan());
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) node;
        rewriter.capture.inMemory(relation, relation.scan(), 1);
        Map<String, Object> tooMany = Capture.problemOf(relation.nodeName(), "rows beyond its first 8,388,608 partitions have no references", "missing");
        MemoryRelation rows = rewriter.capture.inMemory(relation);
        NumberedPythonScan scan = new NumberedPythonScan(relation.scan(), rows, rewriter.capture.problems, tooMany);
        HiddenColumn row = HiddenColumn.row(operator);
        List<Attribute> output = Scala.list(relation.output());
        output.add(row.attribute);
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(row);
        return new Rewritten(Nodes.tableScan(relation, scan, Scala.seq(output)), hidden);
    }
}
