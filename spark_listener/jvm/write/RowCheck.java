package headwater.write;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/** Looks at each row that goes to a writer: whether it becomes one record of the file. In most formats every row does; others have a check of their own. */
public class RowCheck implements Serializable {
    /** What is wrong with a row; null if it becomes one record. */
    public String problem(InternalRow row) {
        return null;
    }

    /** Of a writer of which nobody said what it does with rows. */
    static final class Unknown extends RowCheck {
        public String problem(InternalRow row) {
            return "whether its rows became one record each is not known";
        }
    }
}
