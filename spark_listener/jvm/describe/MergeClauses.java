package headwater.describe;

import headwater.rewrite.core.Capture;
import headwater.shim.Accessors;
import headwater.shim.Scala;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.collection.Iterable;

/** How the clauses of a MERGE of Delta treat the rows that are carried over. */
final class MergeClauses {
    private MergeClauses() {}

    /** The change of the sink by a MERGE. Null for other commands. */
    static String kind(LogicalPlan command) {
        if (command == null || !command.nodeName().equals("MergeIntoCommand")) {
            return null;
        }
        Object clauses = Accessors.get(command, "notMatchedBySourceClauses");
        return clauses instanceof Iterable<?> iterable && iterable.isEmpty() ? "plain" : "by_source";
    }

    /**
     * Add a problem if a matched row may meet no clause. Such a row is carried over next to the row of the source. Both
     * were joined, and only values could show which row the result is.
     */
    static void check(LogicalPlan command, List<Map<String, Object>> problems) {
        Object clauses = command == null ? null : Accessors.get(command, "matchedClauses");
        List<Object> all = clauses instanceof Iterable<?> iterable ? Scala.list(iterable) : null;
        if (all == null || all.isEmpty()) {
            return;
        }
        Object condition = Accessors.get(all.get(all.size() - 1), "condition");
        if (!(condition instanceof Option<?> option) || option.isDefined()) {
            String reason = "a row that matched and that no clause took was carried over: the row of the source that it matched may be listed too";
            problems.add(Capture.problemOf("MergeIntoCommand", reason, "superset"));
        }
    }
}
