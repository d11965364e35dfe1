package headwater.describe;

import headwater.shim.Scala;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.immutable.Seq;

/** The queries that a command without children runs: Spark keeps some commands' queries as inner children, so as not to optimise them. */
final class CommandQueries {
    private CommandQueries() {}

    static Seq of(LogicalPlan command) {
        List result = new ArrayList();
        List inner = Scala.list(command.innerChildren());
        for (int i = 0; i < inner.size(); i++) {
            if (inner.get(i) instanceof LogicalPlan) {
                result.add(inner.get(i));
            }
        }
        return Scala.seq(result);
    }
}
