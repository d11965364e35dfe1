package headwater.rewrite.scans.keyed;

import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * Identifies the records of a scan by values of their own: the expression of the reference, and the entry of the source
 * in the manifest.
 */
public record Keyed(Expression reference, Map<String, Object> described) {}
