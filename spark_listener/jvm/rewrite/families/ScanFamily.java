package headwater.rewrite.families;

import headwater.rewrite.core.Family;
import headwater.rewrite.core.HiddenColumn;
import headwater.rewrite.core.Refused;
import headwater.rewrite.core.Rewriter;
import headwater.rewrite.core.Rewritten;
import headwater.rewrite.scans.NumberedScan;
import headwater.rewrite.scans.RecordChange;
import headwater.rewrite.scans.ScanCheck;
import headwater.rewrite.scans.formats.RecordFormat;
import headwater.rewrite.scans.formats.RecordFormats;
import headwater.source.SourceFiles;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Scans of files. */
public final class ScanFamily extends Family {
    public boolean takes(LogicalPlan node) {
        return node instanceof LogicalRelation;
    }

    public Rewritten rewrite(LogicalPlan node, int operator, Rewriter rewriter) {
        LogicalRelation scan = (LogicalRelation) node;
        if (!(scan.relation() instanceof HadoopFsRelation relation)) {
            throw new Refused(scan.relation().getClass().getSimpleName(), "records of this kind of source are not numbered");
        }
        RecordFormat format = ScanCheck.check(scan, relation);
        ScanCheck.checkFilters(scan, relation, rewriter.capture.original);
        RecordChange change = RecordChange.ofJvm();
        NumberedScan numbered = change == null ? null : change.numbered(scan, relation, rewriter.capture);
        if (numbered == null) {
            SourceFiles files = rewriter.capture.source(relation, RecordFormats.unit(relation));
            numbered = NumberedScan.of(scan, relation, format, files, rewriter.capture.reports, true);
        }
        List<HiddenColumn> hidden = new ArrayList<>();
        hidden.add(new HiddenColumn(numbered.reference(), operator));
        return new Rewritten(numbered.plan(), hidden);
    }
}
