package headwater.source;

import headwater.tap.Reports;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Spark's Parquet format, but for the column of row indexes. Spark fills it value by value, boxed, for every row that
 * is scanned: the dearest part of a capture. Where batches are read, this format computes it from the place of the
 * batch in the file instead, when a value is asked for. Where rows are read one by one, or the reader is not the one we
 * know, Spark's own column stays.
 */
public final class NumberedParquet extends ParquetFileFormat {
    public static final String ROW_INDEX = "_tmp_metadata_row_index"; // Spark's readers fill a column of this name

    private final int source;
    private final Reports reports; // null: a split that cannot be numbered fails the task
    private final WantedRows wanted; // null: all
    private final ReadAgain files; // null: they are read for the first time

    public NumberedParquet(int source, Reports reports) {
        this(source, reports, null, null);
    }

    /** Only `wanted` rows get their row index. Other rows get a negative one, or are left out. `files` are read again. */
    public NumberedParquet(int source, Reports reports, WantedRows wanted, ReadAgain files) {
        this.source = source;
        this.reports = reports;
        this.wanted = wanted;
        this.files = files;
    }

    /** The format that reads only row groups with wanted rows. */
    public NumberedParquet only(WantedRows rows) {
        return new NumberedParquet(source, reports, rows, files);
    }

    public boolean supportBatch(SparkSession session, StructType schema) {
        return super.supportBatch(session, schema) && (wanted == null || RowGroups.known());
    }

    public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
        SparkSession session, StructType data, StructType partition, StructType required, Seq<Filter> filters, Map<String, String> options, Configuration conf) {
        Function1<PartitionedFile, Iterator<InternalRow>> reader = numbered(session, data, partition, required, filters, options, conf);
        SerializableConfiguration shared = new SerializableConfiguration(conf); // tasks get one copy
        reader = wanted == null ? reader : new WantedReader(reader, index(required), wanted, shared);
        return files == null ? reader : new CheckedReader(reader, files.by(shared));
    }

    private Function1<PartitionedFile, Iterator<InternalRow>> numbered(
        SparkSession session, StructType data, StructType partition, StructType required, Seq<Filter> filters, Map<String, String> options, Configuration conf) {
        int at = index(required);
        Object batches = Scala.orNull(options.get("returning_batch"));
        if (at < 0 || !"true".equals(batches) || !RowGroups.known()) {
            return super.buildReaderWithPartitionValues(session, data, partition, required, filters, options, conf);
        }
        Function1<PartitionedFile, Iterator<InternalRow>> reader = super.buildReaderWithPartitionValues(session, without(data), partition, without(required), filters, options, conf);
        return new NumberedBatchReader(reader, at, source, reports);
    }

    /** The column's vector is ours; generated code then asks it through Spark's general class, which every class loader knows. */
    public Option<Seq<String>> vectorTypes(StructType required, StructType partition, SQLConf conf) {
        int at = index(required);
        Option<Seq<String>> types = super.vectorTypes(required, partition, conf);
        if (at < 0 || types.isEmpty() || !RowGroups.known()) {
            return types;
        }
        List<String> names = Scala.list(types.get());
        names.set(at, org.apache.spark.sql.vectorized.ColumnVector.class.getName());
        return Scala.some(Scala.seq(names));
    }

    static int index(StructType schema) {
        StructField[] fields = schema.fields();
        for (int i = 0; i < fields.length; i++) {
            if (fields[i].name().equals(ROW_INDEX)) {
                return i;
            }
        }
        return -1;
    }

    static StructType without(StructType schema) {
        List<StructField> fields = new ArrayList<>();
        StructField[] all = schema.fields();
        for (StructField field : all) {
            if (!field.name().equals(ROW_INDEX)) {
                fields.add(field);
            }
        }
        return new StructType(fields.toArray(new StructField[0]));
    }
}
