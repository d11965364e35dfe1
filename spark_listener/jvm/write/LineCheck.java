package headwater.write;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Checks that the records of a file of lines are its lines, so that the n-th written record is the n-th that a reader
 * counts. A line break within a value violates that. The check inspects each text.
 */
public class LineCheck extends RowCheck {
    private static final UTF8String FEED = UTF8String.fromString("\n");
    private static final UTF8String RETURN = UTF8String.fromString("\r");

    private final int columns; // those of partitions apart, which are not in the file
    private final int[] texts; // ordinals of columns that hold text

    public LineCheck(InsertIntoHadoopFsRelationCommand command) {
        List<Attribute> partition = Scala.list(command.partitionColumns());
        List<Attribute> output = Scala.list(command.query().output());
        List<Integer> ordinals = new ArrayList<>();
        int number = 0;
        for (Attribute column : output) {
            boolean data = true;
            for (Attribute attribute : partition) {
                data &= !attribute.exprId().equals(column.exprId());
            }
            if (data && column.dataType() instanceof StringType) {
                ordinals.add(number);
            }
            number += data ? 1 : 0;
        }
        columns = number;
        texts = new int[ordinals.size()];
        for (int i = 0; i < texts.length; i++) {
            texts[i] = ordinals.get(i);
        }
    }

    public int columns() {
        return columns;
    }

    /** Whether the first of them holds text. */
    public boolean beginsWithText() {
        return texts.length > 0 && texts[0] == 0;
    }

    public String problem(InternalRow row) {
        for (int each : texts) {
            if (row.isNullAt(each)) {
                continue;
            }
            UTF8String text = row.getUTF8String(each);
            if (text.contains(FEED) || text.contains(RETURN)) {
                return "a value holds a line break, so that the file's records are not its lines";
            }
        }
        return null;
    }
}
