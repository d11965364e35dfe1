package headwater.listen;

import headwater.shim.Scala;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;

/** The SQL text of a query, which the parser notes at each node. The texts of views are left out. */
final class SqlText {
    private static final int NODES = 2000;
    private static final int LONGEST = 100000; // characters

    private SqlText() {}

    /** The texts in the plan, one after the other; null where it was not written in SQL. */
    static String of(LogicalPlan plan) {
        Set<Object> texts = new LinkedHashSet<>();
        ArrayDeque<LogicalPlan> waiting = new ArrayDeque<>();
        waiting.add(plan);
        for (int seen = 0; !waiting.isEmpty() && seen < NODES; seen++) {
            LogicalPlan node = waiting.poll();
            Object text = Scala.orNull(node.origin().sqlText());
            if (text != null && !(node instanceof View) && Scala.orNull(node.origin().objectType()) == null) {
                texts.add(text);
            }
            if (!(node instanceof View)) {
                waiting.addAll(Scala.list(node.children()));
            }
        }
        StringBuilder result = new StringBuilder();
        Iterator<Object> each = texts.iterator();
        while (each.hasNext() && result.length() < LONGEST) {
            result.append(result.length() == 0 ? "" : ";\n").append(each.next());
        }
        return result.length() == 0 ? null : result.substring(0, Math.min(result.length(), LONGEST));
    }
}
