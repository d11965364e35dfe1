package headwater.rewrite.scans.formats;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileFormat;

/**
 * Filters of a scan for records in a table's files that are no longer rows of the table. `format` reads the `column`
 * with the mark, and `kept` is true for rows of the table.
 */
public record DeletionMarks(FileFormat format, Attribute column, Expression kept) {}
