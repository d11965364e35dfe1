package headwater.write;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Looks at each row that goes to a writer: whether it becomes one record of the file. In most formats every row does;
 * others have a check of their own.
 */
public class RowCheck implements Serializable {
    /** The problem with a row. Null if it becomes one record. */
    public String problem(InternalRow row) {
        return null;
    }

    /** The check for a writer whose treatment of rows is not known. */
    static final class Unknown extends RowCheck {
        public String problem(InternalRow row) {
            return "whether its rows became one record each is not known";
        }
    }
}
