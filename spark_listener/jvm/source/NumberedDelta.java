package headwater.source;

import headwater.shim.Scala;
import headwater.tap.Reports;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Delta's Parquet format with the column of row indexes. Delta's own reader does the work, because it knows the names
 * of the columns in the files and the rows that a deletion vector marks. If it marks rows, it needs Spark's own column
 * of row indexes, which stays. If it marks none, the column is computed from the place of the batch, as in
 * NumberedParquet.
 */
public final class NumberedDelta extends ParquetFileFormat {
    public static final String MARK = "__delta_internal_is_row_deleted";
    /** Delta's reader accepts a column of this name in addition to the table's columns, and expects it among the data columns. */
    public static final String INTERNAL = "__delta_internal_row_index";

    private final ParquetFileFormat original;
    private final int source;
    private final Reports reports; // null: a split that cannot be numbered fails the task

    public NumberedDelta(ParquetFileFormat original, int source, Reports reports) {
        this.original = original;
        this.source = source;
        this.reports = reports;
    }

    public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
        SparkSession session, StructType data, StructType partition, StructType required, Seq<Filter> filters, Map<String, String> options, Configuration conf) {
        int at = computed(required);
        if (at < 0 || !"true".equals(Scala.orNull(options.get("returning_batch")))) {
            return original.buildReaderWithPartitionValues(session, data, partition, required, filters, options, conf);
        }
        Function1<PartitionedFile, Iterator<InternalRow>> reader = original.buildReaderWithPartitionValues(
            session, NumberedParquet.without(data), partition, NumberedParquet.without(required), filters, options, conf);
        return new NumberedBatchReader(reader, at, source, reports);
    }

    public Option<Seq<String>> vectorTypes(StructType required, StructType partition, SQLConf conf) {
        Option<Seq<String>> types = original.vectorTypes(required, partition, conf);
        int at = computed(required);
        if (at < 0 || types.isEmpty()) {
            return types;
        }
        List<String> names = Scala.list(types.get());
        names.set(at, org.apache.spark.sql.vectorized.ColumnVector.class.getName());
        return Scala.some(Scala.seq(names));
    }

    /** The place of the column of row indexes that we fill. Negative if there is none. */
    private static int computed(StructType required) {
        return RowGroups.known() && !required.getFieldIndex(MARK).isDefined() ? NumberedParquet.index(required) : -1;
    }

    public boolean supportBatch(SparkSession session, StructType schema) {
        return original.supportBatch(session, schema);
    }

    public boolean isSplitable(SparkSession session, Map<String, String> options, Path path) {
        return original.isSplitable(session, options, path);
    }

    public boolean supportFieldName(String name) {
        return original.supportFieldName(name);
    }

    public Seq<StructField> metadataSchemaFields() {
        return original.metadataSchemaFields();
    }

    public Map<String, Function1<PartitionedFile, Object>> fileConstantMetadataExtractors() {
        return original.fileConstantMetadataExtractors();
    }

    public boolean equals(Object other) {
        return other instanceof NumberedDelta numberedDelta && numberedDelta.original.equals(original);
    }

    public int hashCode() {
        return original.hashCode();
    }
}
