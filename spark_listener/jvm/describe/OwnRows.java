package headwater.describe;

import headwater.shim.Scala;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.Dependency;
import org.apache.spark.rdd.EmptyRDD;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.RDD;

/** Whether the rows of an RDD are the program's own (`createDataFrame` of a list, `parallelize`): no column is behind them. Bounded. */
final class OwnRows {
    private static final int RDDS = 100;

    private OwnRows() {}

    static boolean are(RDD<?> last) {
        Set<Integer> seen = new HashSet<>();
        ArrayDeque<RDD<?>> waiting = new ArrayDeque<>();
        waiting.add(last);
        try {
            while (!waiting.isEmpty() && seen.size() <= RDDS) {
                RDD<?> rdd = waiting.poll();
                if (!seen.add(rdd.id())) {
                    continue;
                }
                List<Dependency<?>> dependencies = Scala.list(rdd.dependencies());
                if (dependencies.isEmpty() && !(rdd instanceof ParallelCollectionRDD<?>) && !(rdd instanceof EmptyRDD<?>)) {
                    return false;
                }
                for (Dependency<?> dependency : dependencies) {
                    waiting.add(dependency.rdd());
                }
            }
        } catch (RuntimeException unknown) { // an RDD of the program's may refuse
            return false;
        }
        return waiting.isEmpty();
    }
}
