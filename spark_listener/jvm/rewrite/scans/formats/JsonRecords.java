package headwater.rewrite.scans.formats;

import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.json.JsonFileFormat;
import org.apache.spark.sql.internal.SQLConf;

/** JSON: an object a line, or, with `multiLine`, the objects of a file. A line or a file that is an array has a record for each element. */
final class JsonRecords extends LineRecords {
    public boolean is(FileFormat format) {
        return format.getClass() == JsonFileFormat.class;
    }

    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {
        if (isOn(options, "multiline")) {
            checkMode(scan, options); // read by one task from its beginning, in whatever encoding
        } else {
            super.check(scan, relation, options);
        }
    }

    public boolean pushesFilters() {
        return SQLConf.get().jsonFilterPushDown();
    }

    public void addSession(Map<String, Object> options, SessionOptions session) {
        options.putIfAbsent("timezone", session.timeZone());
        options.putIfAbsent("columnnameofcorruptrecord", session.corruptColumn());
    }
}
