package headwater.source;

import org.apache.spark.sql.execution.datasources.PartitionedFile;
import scala.Function1;
import scala.collection.Iterator;

/** Reads one split after the other, in the executor: the original's batches, with a column of references put in at its place. */
final class RankedBatchReader extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
    private final Function1 original;
    private final int column;
    private final int ordinal; // place of the file's ordinal among the partition values
    private final SplitStart start;

    RankedBatchReader(Function1 original, int column, int ordinal, SplitStart start) {
        this.original = original;
        this.column = column;
        this.ordinal = ordinal;
        this.start = start;
    }

    public Object apply(Object split) {
        PartitionedFile file = (PartitionedFile) split;
        long first = ((long) file.partitionValues().getInt(ordinal)) << 40;
        return new NumberedBatches((Iterator) original.apply(file), column, new CountedRows(first + RankedReader.before(file, start)), null);
    }
}
