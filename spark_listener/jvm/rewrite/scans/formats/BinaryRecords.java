package headwater.rewrite.scans.formats;

import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.binaryfile.BinaryFileFormat;

/** Binary files: every file a record, its number 0. */
final class BinaryRecords extends RecordFormat {
    public boolean is(FileFormat format) {
        return format.getClass() == BinaryFileFormat.class;
    }

    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {}

    public boolean writes(FileFormat format) {
        return false; // Spark has no writer of them
    }
}
