package headwater.source;

import headwater.shim.Scala;
import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * A file format that reads some records of a file, by their numbers: only these, or all but these. It has the columns
 * of the original, so a query costs what it costs without it. Other files are read as by the original. Only for readers
 * that give rows one by one.
 */
public final class SelectedFormat extends WrappedFormat {
    private final HashMap<String, long[]> rows; // path of a file -> numbers of its records, ascending
    private final boolean keeps; // only these records are read; else all but these
    private final String marks;

    /** `marks` is a folder for the marks of lines, or null. */
    public SelectedFormat(FileFormat original, java.util.Map<String, long[]> rows, boolean keeps, String marks) {
        super(original);
        this.marks = marks;
        this.rows = new HashMap<>(rows);
        this.keeps = keeps;
    }

    public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
        SparkSession session, StructType data, StructType partition, StructType required, Seq<Filter> filters, Map<String, String> options, Configuration conf) {
        Function1<PartitionedFile, Iterator<InternalRow>> all =
            original.buildReaderWithPartitionValues(session, data, partition, required, filters, options, conf);
        // a filter in the reader would leave out records that count
        Function1<PartitionedFile, Iterator<InternalRow>> counted =
            filters.isEmpty() ? all : original.buildReaderWithPartitionValues(session, data, partition, required, Scala.empty(), options, conf);
        return new SelectedReader(all, counted, rows, keeps, hasLines(options, conf) ? new SerializableConfiguration(conf) : null, marks);
    }

    /** Whether every line is a record. */
    private boolean hasLines(Map<String, String> options, Configuration conf) {
        if (!keeps || original.getClass() != TextFileFormat.class) {
            return false;
        }
        for (java.util.Map.Entry<String, String> option : Scala.map(options).entrySet()) {
            String name = option.getKey();
            if (name.equalsIgnoreCase("lineSep") || name.equalsIgnoreCase("wholetext") && Boolean.parseBoolean(option.getValue())) {
                return false;
            }
        }
        return conf.get("textinputformat.record.delimiter") == null;
    }

    public boolean supportBatch(SparkSession session, StructType schema) {
        return false;
    }

    /** Records are counted from the beginning of a file. */
    public boolean isSplitable(SparkSession session, Map<String, String> options, Path path) {
        return !rows.containsKey(path.toString()) && original.isSplitable(session, options, path);
    }

    public boolean equals(Object other) {
        return other instanceof SelectedFormat selected && selected.original.getClass() == original.getClass() && selected.keeps == keeps
            && selected.rows.keySet().equals(rows.keySet());
    }

    public int hashCode() {
        return super.hashCode() * 31 + rows.keySet().hashCode();
    }
}
