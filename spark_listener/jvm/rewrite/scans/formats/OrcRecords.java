package headwater.rewrite.scans.formats;

import headwater.rewrite.core.Refused;
import headwater.source.OrcSplitStart;
import headwater.source.RankedFormat;
import headwater.source.SourceFiles;
import headwater.tap.Reports;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.internal.SQLConf;

/** ORC: the row's number in the file. A split begins with a stripe, and the file's footer says how many rows stand before that. */
final class OrcRecords extends RecordFormat {
    public boolean is(FileFormat format) {
        return format.getClass() == OrcFileFormat.class;
    }

    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {
        if (SQLConf.get().ignoreCorruptFiles() || isOn(options, "ignorecorruptfiles")) {
            throw new Refused(scan, "where corrupt files are ignored, how many rows a file has is not certain");
        }
    }

    public boolean countsWholeFiles() {
        return true;
    }

    public FileFormat numbered(HadoopFsRelation relation, SourceFiles files, Reports reports, boolean splits) {
        return new RankedFormat(relation.fileFormat(), files, reports, true, new OrcSplitStart(relation));
    }
}
