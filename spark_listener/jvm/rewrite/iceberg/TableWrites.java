package headwater.rewrite.iceberg;

import headwater.rewrite.core.Capture;
import headwater.rewrite.core.Inputs;
import headwater.rewrite.core.Refused;
import headwater.shim.Accessors;
import headwater.shim.DataFiles;
import headwater.shim.Nodes;
import headwater.shim.Scala;
import headwater.write.iceberg.TableCommit;
import headwater.write.iceberg.TrackedWrite;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.plans.logical.WriteDelta;
import org.apache.spark.sql.catalyst.util.RowDeltaUtils;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;

/**
 * Commands that write rows into an Iceberg table: Spark's plain writes, and what it makes of UPDATE, DELETE and MERGE.
 * The last two kinds write rows that stay as they are into new files too (ReplaceData), or what they delete apart
 * (WriteDelta).
 */
public final class TableWrites {
    private static final String NAME = "Write iceberg";

    private TableWrites() {}

    public static boolean takes(LogicalPlan command) {
        return command instanceof V2WriteCommand && write(command) != null && write(command).getClass().getName().startsWith("org.apache.iceberg.");
    }

    /** Throws Refused if the records that a command writes cannot be identified. */
    public static void check(LogicalPlan command) {
        Refused.untried(NAME, "Iceberg");
        if (!Inputs.subqueries(command).isEmpty()) {
            throw new Refused(NAME, "the command's own condition has a subquery, which is not followed yet");
        }
        Object format = Accessors.field(write(command), "format");
        format = format != null ? format : Accessors.get(Accessors.field(write(command), "context"), "dataFileFormat");
        if (format != null && !"PARQUET".equals(String.valueOf(format))) {
            throw new Refused(NAME, "records of data files of the format " + format + " are not numbered yet");
        }
        if (command instanceof WriteDelta && operation(command) == null) {
            throw new Refused(NAME, "which rows are deleted cannot be told");
        }
    }

    /** The predicate that a tap is, for those rows that go to a data file. */
    public static Expression ofRowsThatStay(LogicalPlan command, Expression tap) {
        if (!(command instanceof WriteDelta)) {
            return tap;
        }
        Literal deleted = new Literal(RowDeltaUtils.DELETE_OPERATION(), DataTypes.IntegerType);
        return new Or(new EqualTo(operation(command), deleted), tap); // the right side is not asked where the left holds
    }

    /** The command with another query, whose rows' files are noted. */
    public static LogicalPlan tracked(LogicalPlan command, LogicalPlan query, Capture capture) {
        capture.table = new TableCommit(DataFiles.known(table(command), "table"), SparkContext.getOrCreate().applicationId());
        Write write = write(command);
        Write tracked = TrackedWrite.of(write, TableScans.conf(), capture.table);
        return Nodes.command(command, ((V2WriteCommand) command).query(), query, write, tracked);
    }

    private static Object table(LogicalPlan command) {
        Object table = ((DataSourceV2Relation) ((V2WriteCommand) command).table()).table();
        return table instanceof RowLevelOperationTable rowLevelOperationTable ? rowLevelOperationTable.table() : table;
    }

    /** The column with the operation on a row. Null if there is none. */
    private static Attribute operation(LogicalPlan command) {
        for (Attribute column : Scala.list(((V2WriteCommand) command).query().output())) {
            if (column.name().equals(RowDeltaUtils.OPERATION_COLUMN())) {
                return column;
            }
        }
        return null;
    }

    private static Write write(LogicalPlan command) {
        Object write = Accessors.get(command, "write");
        return write instanceof scala.Option<?> option ? (Write) Scala.orNull(option) : null;
    }
}
