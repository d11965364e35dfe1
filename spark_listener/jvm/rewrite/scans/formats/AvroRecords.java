package headwater.rewrite.scans.formats;

import headwater.rewrite.core.Refused;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.internal.SQLConf;

/** Avro: the rank of a record in its split. The service finds the blocks that stand before a split by the marks between them. */
final class AvroRecords extends RecordFormat {
    private static final String CLASS = "org.apache.spark.sql.avro.AvroFileFormat"; // of a jar that not every application has

    public boolean is(FileFormat format) {
        return format.getClass().getName().equals(CLASS);
    }

    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {
        if (SQLConf.get().ignoreCorruptFiles() || isOn(options, "ignorecorruptfiles")) {
            throw new Refused(scan, "where corrupt files are ignored, how many rows a file has is not certain");
        }
    }
}
