package headwater.rewrite.scans.formats;

import headwater.shim.Scala;
import headwater.write.LineCheck;
import headwater.write.RowCheck;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.csv.CSVFileFormat;
import org.apache.spark.sql.internal.SQLConf;

/** CSV: lines, or, with `multiLine`, records that may go over several; a header, a comment or a blank line is no record. */
final class CsvRecords extends LineRecords {
    public boolean is(FileFormat format) {
        return format.getClass() == CSVFileFormat.class;
    }

    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {
        if (isOn(options, "multiline")) {
            checkMode(scan, options); // read by one task from its beginning
        } else {
            super.check(scan, relation, options);
        }
    }

    public boolean pushesFilters() {
        return SQLConf.get().csvFilterPushDown();
    }

    public void addSession(Map<String, Object> options, SessionOptions session) {
        options.putIfAbsent("timezone", session.timeZone());
        options.putIfAbsent("columnnameofcorruptrecord", session.corruptColumn());
    }

    public RowCheck rowCheck(InsertIntoHadoopFsRelationCommand command) {
        return new CsvLines(command);
    }

    /** Spark's writer leaves out a row whose only column is null or empty, if that is written as nothing. */
    static final class CsvLines extends LineCheck {
        private final boolean isText;
        private final boolean nullIsNothing;
        private final boolean emptyIsNothing;

        CsvLines(InsertIntoHadoopFsRelationCommand command) {
            super(command);
            isText = beginsWithText();
            nullIsNothing = columns() == 1 && option(command, "nullvalue", "").isEmpty();
            emptyIsNothing = columns() == 1 && option(command, "emptyvalue", "\"\"").isEmpty();
        }

        public String problem(InternalRow row) {
            if (nullIsNothing && row.isNullAt(0)) {
                return "a row of one null column is not written to CSV at all";
            }
            String problem = super.problem(row);
            if (problem == null && emptyIsNothing && isText && !row.isNullAt(0) && row.getUTF8String(0).trim().numBytes() == 0) {
                return "a row of one empty column is not written to CSV at all";
            }
            return problem;
        }

        private static String option(InsertIntoHadoopFsRelationCommand command, String name, String otherwise) {
            for (Map.Entry<String, String> option : Scala.map(command.options()).entrySet()) {
                if (name.equalsIgnoreCase(option.getKey())) {
                    return option.getValue();
                }
            }
            return otherwise;
        }
    }
}
