package headwater.rewrite.scans.formats;

import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat;
import org.apache.spark.sql.internal.SQLConf;

/** CSV: lines, or, with `multiLine`, records that may go over several; a header, a comment or a blank line is no record. */
final class CsvRecords extends LineRecords {
    public boolean is(FileFormat format) {
        return format.getClass() == CSVFileFormat.class;
    }

    public void check(String scan, HadoopFsRelation relation, Map options) {
        if (isOn(options, "multiline")) {
            checkMode(scan, options); // read by one task from its beginning
        } else {
            super.check(scan, relation, options);
        }
    }

    public boolean pushesFilters() {
        return SQLConf.get().csvFilterPushDown();
    }

    public void addSession(Map options, SessionOptions session) {
        options.putIfAbsent("timezone", session.timeZone());
        options.putIfAbsent("columnnameofcorruptrecord", session.corruptColumn());
    }
}
