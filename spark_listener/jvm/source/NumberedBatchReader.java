package headwater.source;

import headwater.tap.Report;
import headwater.tap.Reports;
import headwater.tap.TaskTaps;
import org.apache.spark.TaskContext;
import scala.Function1;
import scala.collection.Iterator;

/** Reads one split after the other, in the executor: Spark's batches, with the column of row indexes put in at its place. */
final class NumberedBatchReader extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
    private final Function1 original;
    private final int column;
    private final int source;
    private final Reports reports;

    NumberedBatchReader(Function1 original, int column, int source, Reports reports) {
        this.original = original;
        this.column = column;
        this.source = source;
        this.reports = reports;
    }

    public Object apply(Object split) {
        Iterator batches = (Iterator) original.apply(split);
        RowGroups groups = null;
        try {
            groups = RowGroups.watch(batches);
        } catch (Throwable fault) {
            lost(fault);
        }
        return new NumberedBatches(batches, column, groups, this);
    }

    /** Rows of this task cannot be numbered. They get no reference, and the driver is told. */
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
