package headwater.rewrite.scans.formats;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileFormat;

/** Filters of a scan for records in a table's files that are no longer rows of the table. */
public final class DeletionMarks {
    public final FileFormat format; // gives the mark
    public final Attribute column; // a column of the reader: the mark
    public final Expression kept; // holds for records that are there

    DeletionMarks(FileFormat format, Attribute column, Expression kept) {
        this.format = format;
        this.column = column;
        this.kept = kept;
    }
}
