package headwater.source;

import headwater.shim.Scala;
import headwater.tap.Reports;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * A file format that reads like the original and adds a column with the reference of each record. The reference is the
 * split's ordinal and the record's rank in the split (CSV, text, …), or the file's ordinal and the rank in the file
 * (ORC). The format serves readers without positions.
 *
 * No filter is pushed into the original reader, because it must count every record. The Filter above the scan does the
 * work. The price is that the reader converts records that a pushed filter would have skipped.
 */
public final class RankedFormat extends WrappedFormat {
    public static final String COLUMN = "_headwater_reference";

    private final SourceFiles files;
    private final Reports reports; // null: nobody asks for the splits
    private final boolean splits;
    private final SplitStart start; // null: records are counted from the beginning of each split
    private final ChosenRecords chosen; // null: all records are read

    /** Without `splits` every file is read by one task. */
    public RankedFormat(FileFormat original, SourceFiles files, Reports reports, boolean splits) {
        this(original, files, reports, splits, null);
    }

    /** The format that reads only some records, if rows are read one by one. Batches contain all records. */
    public RankedFormat only(ChosenRecords records) {
        return new RankedFormat(original, files, reports, splits, start, records);
    }

    /** With `start` records are counted from the beginning of the file, which may be read in batches. */
    public RankedFormat(FileFormat original, SourceFiles files, Reports reports, boolean splits, SplitStart start) {
        this(original, files, reports, splits, start, null);
    }

    private RankedFormat(FileFormat original, SourceFiles files, Reports reports, boolean splits, SplitStart start, ChosenRecords chosen) {
        super(original);
        this.files = files;
        this.reports = reports;
        this.splits = splits;
        this.start = start;
        this.chosen = chosen;
    }

    public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
        SparkSession session, StructType data, StructType partition, StructType required, Seq<Filter> filters, Map<String, String> options, Configuration conf) {
        StructType bareData = without(data);
        StructType bareRequired = without(required);
        boolean wanted = bareRequired.length() < required.length();
        if (start == null) {
            Function1<PartitionedFile, Iterator<InternalRow>> reader = original.buildReader(session, bareData, partition, bareRequired, Scala.empty(), options, conf);
            return new RankedReader(reader, bareRequired, required, partition, files.number, files.unit, wanted ? reports : null, null, chosen);
        }
        if ("true".equals(Scala.orNull(options.get("returning_batch")))) { // the batches have the partition values too
            Function1<PartitionedFile, Iterator<InternalRow>> reader = original.buildReaderWithPartitionValues(session, bareData, partition, bareRequired, Scala.empty(), options, conf);
            return wanted ? new RankedBatchReader(reader, required.fieldIndex(COLUMN), partition.length() - 1, start) : reader;
        }
        Function1<PartitionedFile, Iterator<InternalRow>> reader = original.buildReaderWithPartitionValues(
            session, bareData, new StructType(new StructField[0]), bareRequired, Scala.empty(), options, conf);
        return new RankedReader(reader, bareRequired, required, partition, files.number, files.unit, null, start, chosen);
    }

    public Function1<PartitionedFile, Iterator<InternalRow>> buildReader(
        SparkSession session, StructType data, StructType partition, StructType required, Seq<Filter> filters, Map<String, String> options, Configuration conf) {
        throw new UnsupportedOperationException("records are only numbered together with partition values");
    }

    static StructType without(StructType schema) {
        List<StructField> fields = new ArrayList<>();
        StructField[] all = schema.fields();
        for (StructField field : all) {
            if (!field.name().equals(COLUMN)) {
                fields.add(field);
            }
        }
        return new StructType(fields.toArray(new StructField[0]));
    }

    public boolean supportBatch(SparkSession session, StructType schema) {
        return start != null && original.supportBatch(session, without(schema));
    }

    public boolean isSplitable(SparkSession session, Map<String, String> options, Path path) {
        return splits && original.isSplitable(session, options, path);
    }

    public boolean equals(Object other) {
        return other instanceof RankedFormat rankedFormat && rankedFormat.original.getClass() == original.getClass();
    }
}
