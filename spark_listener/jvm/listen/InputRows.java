package headwater.listen;

import headwater.describe.ScannedText;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.metric.SQLMetric;

/**
 * The rows, files and bytes that the scans of an executed plan have read, as Spark counted them. An exchange or
 * subquery that is reused counts once.
 */
final class InputRows {
    private final List<Map<String, Object>> found = new ArrayList<>();
    private final Map<SparkPlan, Boolean> seen = new IdentityHashMap<>();

    private InputRows() {}

    /** The dataset of each scan (ScannedText), with `rows`, `files` and `bytes`. */
    static List<Map<String, Object>> of(SparkPlan plan) {
        InputRows rows = new InputRows();
        rows.visit(plan);
        return rows.found;
    }

    private void visit(SparkPlan plan) {
        if (plan == null || seen.put(plan, true) != null) {
            return;
        }
        if (plan instanceof AdaptiveSparkPlanExec adaptiveSparkPlanExec) {
            visit(adaptiveSparkPlanExec.executedPlan());
        } else if (plan instanceof QueryStageExec queryStageExec) {
            visit(queryStageExec.plan());
        } else if (plan.children().isEmpty()) {
            Map<String, Object> scanned = read(plan);
            if (scanned != null) {
                found.add(scanned);
            }
        }
        List<SparkPlan> below = Scala.list(plan.children());
        below.addAll(Scala.list(plan.subqueries()));
        for (SparkPlan sparkPlan : below) {
            visit(sparkPlan);
        }
    }

    private static Map<String, Object> read(SparkPlan scan) {
        Map<String, Object> result = ScannedText.of(scan);
        if (result != null) {
            Map<String, SQLMetric> counted = Scala.map(scan.metrics());
            QueryEnd.put(result, "rows", counted.get("numOutputRows"));
            QueryEnd.put(result, "files", counted.get("numFiles"));
            QueryEnd.put(result, "bytes", counted.get("filesSize"));
        }
        return result;
    }
}
