package headwater.rewrite.scans.formats;

import headwater.write.LineCheck;
import headwater.write.RowCheck;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;

/** Text: every line a record; with `wholetext` every file one, its number 0. */
final class TextRecords extends LineRecords {
    public boolean is(FileFormat format) {
        return format.getClass() == TextFileFormat.class;
    }

    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {
        if (!isOn(options, "wholetext")) {
            super.check(scan, relation, options);
        }
    }

    public RowCheck rowCheck(InsertIntoHadoopFsRelationCommand command) {
        return new LineCheck(command);
    }
}
