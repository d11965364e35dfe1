package headwater.source;

import headwater.shim.Scala;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Function1;
import scala.collection.Iterator;

/** Reads one split after the other, in the executor: the original's batches, with a column of references put in at its place. */
final class RankedBatchReader extends scala.runtime.AbstractFunction1<PartitionedFile, Iterator<InternalRow>> implements java.io.Serializable {
    private final Function1<PartitionedFile, Iterator<InternalRow>> original;
    private final int column;
    private final int ordinal; // place of the file's ordinal among the partition values
    private final SplitStart start;

    RankedBatchReader(Function1<PartitionedFile, Iterator<InternalRow>> original, int column, int ordinal, SplitStart start) {
        this.original = original;
        this.column = column;
        this.ordinal = ordinal;
        this.start = start;
    }

    public Iterator<InternalRow> apply(PartitionedFile split) {
        PartitionedFile file = split;
        long first = ((long) file.partitionValues().getInt(ordinal)) << 40;
        return Scala.batches(new NumberedBatches(original.apply(file), column, new CountedRows(first + RankedReader.before(file, start)), null));
    }
}
