package headwater.rewrite.scans.formats;

import headwater.rewrite.core.Refused;
import headwater.shim.Differences;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.xml.XmlFileFormat;

/** XML: the n-th element of the row's tag in its file, which one task reads from the beginning. */
final class XmlRecords extends RecordFormat {
    public boolean is(FileFormat format) {
        return format.getClass() == XmlFileFormat.class;
    }

    public void check(String scan, HadoopFsRelation relation, Map<String, String> options) {
        checkMode(scan, options);
        if (Differences.readsXmlByOlderParser(options)) {
            throw new Refused(scan, "Spark's older parser of XML takes other elements for records than the one of Spark 4.1");
        }
        if ("false".equalsIgnoreCase(options.get("multiline"))) {
            throw new Refused(scan, "a file of XML that is read line by line is split where no record can be told");
        }
    }

    public boolean writes(FileFormat format) {
        return false;
    }
}
