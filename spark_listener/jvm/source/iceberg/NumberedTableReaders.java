package headwater.source.iceberg;

import headwater.tap.Report;
import headwater.tap.Reports;
import headwater.tap.TaskTaps;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Creates Iceberg's readers in the executor, with the references of the rows after the columns that the query reads. */
final class NumberedTableReaders implements PartitionReaderFactory {
    private final PartitionReaderFactory original;
    private final int columns; // that the query reads
    private final int source;
    private final Reports reports;

    NumberedTableReaders(PartitionReaderFactory original, NumberedTableScan scan) {
        this.original = original;
        this.columns = scan.original.readSchema().length();
        this.source = scan.files.number;
        this.reports = scan.reports;
    }

    public PartitionReader<InternalRow> createReader(InputPartition part) {
        TablePart known = (TablePart) part;
        return new NumberedTableRows(original.createReader(known.original), columns, places(known));
    }

    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition part) {
        TablePart known = (TablePart) part;
        return new NumberedTableColumns(original.createColumnarReader(known.original), columns, places(known));
    }

    public boolean supportColumnarReads(InputPartition part) {
        return original.supportColumnarReads(((TablePart) part).original);
    }

    private RowPlaces places(TablePart part) {
        RowPlaces places = new RowPlaces(part, this);
        if (part.fault != null) {
            lost(part.fault);
        }
        return places;
    }

    /** The rows of this task cannot be numbered. The rows get no reference, and the driver gets a report. */
    void lost(String reason) {
        Report report = new Report();
        report.boundary = -1;
        report.source = source;
        report.operator = "Scan iceberg";
        report.fault = "rows of a table could not be numbered: " + reason;
        TaskContext context = TaskContext.get();
        if (context != null) {
            TaskTaps.of(context).tell(reports, report);
        }
    }
}
