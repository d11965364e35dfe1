package headwater.rewrite.scans.formats;

import headwater.shim.Scala;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.internal.SQLConf;

/** The file formats whose records can be numbered exactly. A new format is a class of its own and its line in this list. */
public final class RecordFormats {
    private static final RecordFormat[] ALL = new RecordFormat[] {
        new ParquetRecords(), new CsvRecords(), new TextRecords(), new JsonRecords(), new OrcRecords(), new AvroRecords(), new XmlRecords(),
        new BinaryRecords(), new DeltaRecords(),
    };

    private RecordFormats() {}

    /** The format of Spark's reader or writer. Null if it is not known. */
    public static RecordFormat of(FileFormat format) {
        for (RecordFormat recordFormat : ALL) {
            if (recordFormat.is(format)) {
                return recordFormat;
            }
        }
        return null;
    }

    /** The format of a writer whose n-th row in a task becomes the n-th record of a file. Null if that is not known. */
    public static RecordFormat written(FileFormat format) {
        for (RecordFormat recordFormat : ALL) {
            if (recordFormat.writes(format)) {
                return recordFormat;
            }
        }
        return null;
    }

    /** The reader's options, names in lower case. */
    public static Map<String, String> options(HadoopFsRelation relation) {
        Map<String, String> result = new HashMap<>();
        for (Map.Entry<String, String> entry : Scala.map(relation.options()).entrySet()) {
            result.put(String.valueOf(entry.getKey()).toLowerCase(Locale.ROOT), String.valueOf(entry.getValue()));
        }
        return result;
    }

    /** No split of a file is smaller (FilePartition.maxSplitBytes), the last of a file apart. */
    public static long unit(HadoopFsRelation relation) {
        RecordFormat format = of(relation.fileFormat());
        if (format != null && format.countsWholeFiles()) {
            return 0L;
        }
        SQLConf conf = SQLConf.get();
        return Math.max(1L, Math.min(conf.filesMaxPartitionBytes(), conf.filesOpenCostInBytes()));
    }
}
