package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.iceberg.TableScans;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.source.SourceFiles;
import headwater.source.iceberg.NumberedTableScan;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** Scans of tables by a connector's own reader: of Iceberg. */
public final class TableScanFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof DataSourceV2ScanRelation;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) node;
        TableScans.check(relation);
        SourceFiles files = rewriter.capture.source(TableScans.key(relation), 0L);
        Configuration conf = TableScans.conf();
        NumberedTableScan scan = NumberedTableScan.of(relation.scan(), files, rewriter.capture.reports, conf);
        HiddenColumn reference = HiddenColumn.row(operator);
        List<Attribute> output = Scala.list(relation.output());
        output.add(reference.attribute);
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(reference);
        return new Rewritten(Nodes.tableScan(relation, scan, Scala.seq(output)), hidden);
    }
}
