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

/** What the scans in a plan that ran have read, as Spark counted it. An exchange or subquery that is used again has read once. */
final class InputRows {
    private final List found = new ArrayList();
    private final Map seen = new IdentityHashMap();

    private InputRows() {}

    /** What each scan has read (ScannedText), with `rows`, `files` and `bytes`. */
    static List of(SparkPlan plan) {
        InputRows rows = new InputRows();
        rows.visit(plan);
        return rows.found;
    }

    private void visit(SparkPlan plan) {
        if (plan == null || seen.put(plan, Boolean.TRUE) != null) {
            return;
        }
        if (plan instanceof AdaptiveSparkPlanExec) {
            visit(((AdaptiveSparkPlanExec) plan).executedPlan());
        } else if (plan instanceof QueryStageExec) {
            visit(((QueryStageExec) plan).plan());
        } else if (plan.children().isEmpty()) {
            Map scanned = read(plan);
            if (scanned != null) {
                found.add(scanned);
            }
        }
        List below = Scala.list(plan.children());
        below.addAll(Scala.list(plan.subqueries()));
        for (int i = 0; i < below.size(); i++) {
            visit((SparkPlan) below.get(i));
        }
    }

    private static Map read(SparkPlan scan) {
        Map result = ScannedText.of(scan);
        if (result != null) {
            Map counted = Scala.map(scan.metrics());
            QueryEnd.put(result, "rows", counted.get("numOutputRows"));
            QueryEnd.put(result, "files", counted.get("numFiles"));
            QueryEnd.put(result, "bytes", counted.get("filesSize"));
        }
        return result;
    }
}
