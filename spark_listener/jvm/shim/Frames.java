package headwater.shim;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.execution.QueryExecution;

/** Frames and their plans. Spark 4 has classes for Spark Classic and for Spark Connect, and these are those of Spark Classic. */
public final class Frames {
    private Frames() {}

    public static Dataset<Row> of(SparkSession session, LogicalPlan plan) {
        return Dataset$.MODULE$.ofRows((org.apache.spark.sql.classic.SparkSession) session, plan);
    }

    /** A frame of the same type as another, of a query of its own. */
    public static Dataset<?> of(QueryExecution query, Dataset<?> like) {
        return new org.apache.spark.sql.classic.Dataset<>(query, like.encoder());
    }

    public static LogicalPlan plan(Dataset<?> frame) {
        return ((org.apache.spark.sql.classic.Dataset<?>) frame).logicalPlan();
    }
}
