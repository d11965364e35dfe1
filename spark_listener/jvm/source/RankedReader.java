package headwater.source;

import headwater.shim.Scala;
import headwater.tap.Report;
import headwater.tap.Reports;
import headwater.tap.TaskTaps;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.collection.Iterator;

/** Reads one split after the other, in the executor: the original's columns, the reference, the partition values. */
final class RankedReader extends scala.runtime.AbstractFunction1<PartitionedFile, Iterator<InternalRow>> implements java.io.Serializable {
    private final Function1<PartitionedFile, Iterator<InternalRow>> original;
    private final StructType bare;
    private final StructType required;
    private final StructType partition;
    private final int source;
    private final long unit;
    private final Reports reports; // null: the query does not want references, or splits have no ordinals of their own
    private final SplitStart start; // null: records are counted from the beginning of each split
    private final ChosenRecords chosen; // null: all records are read
    private transient UnsafeProjection projection;

    RankedReader(Function1<PartitionedFile, Iterator<InternalRow>> original, StructType bare, StructType required, StructType partition, int source, long unit, Reports reports, SplitStart start, ChosenRecords chosen) {
        this.original = original;
        this.bare = bare;
        this.required = required;
        this.partition = partition;
        this.source = source;
        this.unit = unit;
        this.reports = reports;
        this.start = start;
        this.chosen = chosen;
    }

    public Iterator<InternalRow> apply(PartitionedFile split) {
        PartitionedFile file = split;
        int ordinal = file.partitionValues().getInt(partition.length() - 1);
        if (reports != null && (file.start() != 0L || file.length() != file.fileSize())) {
            ordinal += (int) (file.start() / unit);
            report(file, ordinal);
        }
        long first = ((long) ordinal) << 40;
        SpecificInternalRow tail = tail(file.partitionValues());
        RankedRows rows = new RankedRows(original.apply(file), tail, first + before(file, start), projection(), isOrdered());
        return chosen == null ? rows : rows.only(chosen, chosen.end(ordinal));
    }

    /** The number of records before a split. */
    static long before(PartitionedFile file, SplitStart start) {
        try {
            return start == null ? 0L : start.of(file);
        } catch (IOException fault) {
            throw new UncheckedIOException("The rows before a split of " + file.toPath() + " cannot be counted", fault);
        }
    }

    private void report(PartitionedFile file, int ordinal) {
        Report split = new Report();
        split.boundary = -1;
        split.source = source;
        split.splitPath = file.toPath().toString();
        split.splitOrdinal = ordinal;
        split.splitStart = file.start();
        split.splitLength = file.length();
        TaskTaps.of(TaskContext.get()).tell(reports, split);
    }

    /** The reference, still 0, then the partition values. */
    private SpecificInternalRow tail(InternalRow values) {
        StructType types = new StructType().add(RankedFormat.COLUMN, DataTypes.LongType, false);
        for (int i = 0; i < partition.length(); i++) {
            types = types.add(partition.apply(i));
        }
        SpecificInternalRow tail = new SpecificInternalRow(types);
        tail.setLong(0, 0L);
        for (int i = 0; i < partition.length(); i++) {
            tail.update(1 + i, values.get(i, partition.apply(i).dataType()));
        }
        return tail;
    }

    /** The projection from (the original's row, reference, partition values) to the order of columns in the scan. */
    private UnsafeProjection projection() {
        if (projection == null) {
            List<BoundReference> columns = new ArrayList<>();
            StructField[] fields = required.fields();
            for (StructField structField : fields) {
                boolean ours = structField.name().equals(RankedFormat.COLUMN);
                int at = ours ? bare.length() : bare.fieldIndex(structField.name());
                columns.add(new BoundReference(at, structField.dataType(), !ours && structField.nullable()));
            }
            for (int i = 0; i < partition.length(); i++) {
                StructField field = partition.apply(i);
                columns.add(new BoundReference(bare.length() + 1 + i, field.dataType(), field.nullable()));
            }
            projection = UnsafeProjection.create(Scala.seq(columns));
        }
        return projection;
    }

    /** Whether the scan has the original's columns, then the reference, then the partition values. */
    private boolean isOrdered() {
        int last = required.length() - 1;
        return last > 0 && required.apply(last).name().equals(RankedFormat.COLUMN);
    }
}
