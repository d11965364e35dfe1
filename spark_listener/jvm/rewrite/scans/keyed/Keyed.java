package headwater.rewrite.scans.keyed;

import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** How the records of a scan are known by values of their own: the expression of their reference, and what the manifest says of the source. */
public final class Keyed {
    public final Expression reference;
    public final Map<String, Object> described;

    Keyed(Expression reference, Map<String, Object> described) {
        this.reference = reference;
        this.described = described;
    }
}
