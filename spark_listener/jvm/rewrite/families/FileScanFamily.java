package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.nodes.HiddenProject;
import headwater.rewrite.scans.FileScans;
import headwater.rewrite.scans.NumberedScan;
import headwater.rewrite.scans.RecordChange;
import headwater.rewrite.scans.formats.RecordFormat;
import headwater.rewrite.scans.formats.RecordFormats;
import headwater.shim.Scala;
import headwater.source.SourceFiles;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** Scans of files by readers of the second kind (`spark.sql.sources.useV1SourceList`): they are read by those of the first kind. */
public final class FileScanFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof DataSourceV2ScanRelation scan && FileScans.is(scan);
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        DataSourceV2ScanRelation leaf = (DataSourceV2ScanRelation) node;
        LogicalRelation scan = FileScans.first(leaf);
        HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
        RecordFormat format = FileScans.check(leaf, scan, relation);
        RecordChange change = RecordChange.ofJvm();
        NumberedScan numbered = change == null ? null : change.numbered(scan, relation, rewriter.capture);
        if (numbered == null) {
            SourceFiles files = rewriter.capture.source(relation, RecordFormats.unit(relation));
            numbered = NumberedScan.of(scan, relation, format, files, rewriter.capture.reports, true);
        }
        LogicalPlan plan = numbered.plan();
        List<Expression> filters = FileScans.partitionFilters(leaf);
        if (!filters.isEmpty()) {
            Expression all = filters.get(0);
            for (int i = 1; i < filters.size(); i++) {
                all = new And(all, filters.get(i));
            }
            plan = new Filter(all, plan);
        }
        List<Attribute> columns = Scala.list(leaf.output());
        columns.add(numbered.reference());
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(new HiddenColumn(numbered.reference(), operator));
        return new Rewritten(new HiddenProject(Scala.seq(columns), plan, leaf), hidden);
    }
}
