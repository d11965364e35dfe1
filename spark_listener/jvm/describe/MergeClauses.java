package headwater.describe;

import headwater.rewrite.core.Capture;
import headwater.shim.Accessors;
import headwater.shim.Scala;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Option;
import scala.collection.Iterable;

/** What the clauses of a MERGE of Delta say of the rows that it carries over. */
final class MergeClauses {
    private MergeClauses() {}

    /** What the sink says that a MERGE did; null of other commands. */
    static String kind(LogicalPlan command) {
        if (command == null || !command.nodeName().equals("MergeIntoCommand")) {
            return null;
        }
        Object clauses = Accessors.get(command, "notMatchedBySourceClauses");
        return clauses instanceof Iterable<?> iterable && iterable.isEmpty() ? "plain" : "by_source";
    }

    /**
     * Where no clause need take a row that matched, such a row is carried over beside the row of the source: it was joined with it all the same, and
     * which of the two it is, only values would tell.
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
