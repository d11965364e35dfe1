package headwater.describe;

import headwater.shim.Accessors;
import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/**
 * The queries that a command without children runs: Spark keeps some commands' queries as inner children, so as not to
 * optimise them. MERGE of Delta keeps its two in fields alone.
 */
final class CommandQueries {
    private CommandQueries() {}

    static Seq<LogicalPlan> of(LogicalPlan command) {
        List<LogicalPlan> result = new ArrayList<>();
        for (QueryPlan<?> plan : Scala.list(command.innerChildren())) {
            if (plan instanceof LogicalPlan logicalPlan) {
                result.add(logicalPlan);
            }
        }
        if (result.isEmpty() && command.getClass().getName().startsWith("org.apache.spark.sql.delta.commands.")) {
            add(Accessors.get(command, "source"), result);
            add(Accessors.get(command, "target"), result);
        }
        return Scala.seq(result);
    }

    private static void add(Object query, List<LogicalPlan> to) {
        if (query instanceof LogicalPlan logicalPlan) {
            to.add(logicalPlan);
        }
    }
}
