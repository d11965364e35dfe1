package headwater.source;

import headwater.shim.Scala;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import headwater.tap.Report;
import headwater.tap.Reports;
import headwater.tap.TaskTaps;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.Function1;
import scala.collection.Iterator;

/** Reads one split after the other, in the executor: Spark's batches, with the column of row indexes put in at its place. */
final class NumberedBatchReader extends scala.runtime.AbstractFunction1<PartitionedFile, Iterator<InternalRow>> implements java.io.Serializable {
    private final Function1<PartitionedFile, Iterator<InternalRow>> original;
    private final int column;
    private final int source;
    private final Reports reports;

    NumberedBatchReader(Function1<PartitionedFile, Iterator<InternalRow>> original, int column, int source, Reports reports) {
        this.original = original;
        this.column = column;
        this.source = source;
        this.reports = reports;
    }

    public Iterator<InternalRow> apply(PartitionedFile split) {
        Iterator<?> batches = original.apply(split);
        RowGroups groups = null;
        try {
            groups = RowGroups.watch(batches);
        } catch (Throwable fault) {
            lost(fault);
        }
        return Scala.batches(new NumberedBatches(batches, column, groups, this));
    }

    /** The rows of this task cannot be numbered. The rows get no reference, and the driver gets a report. */
    void lost(Throwable cause) {
        if (reports == null) {
            throw new IllegalStateException("The rows of a file cannot be numbered: " + cause, cause);
        }
        Report report = new Report();
        report.boundary = -1;
        report.source = source;
        report.fault = "the rows of a split could not be numbered: " + cause;
        TaskTaps.of(TaskContext.get()).tell(reports, report);
    }
}
